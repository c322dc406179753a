#pragma once
// The codec of an allgather: each rank has a part of the vector, which another codec compresses for
// that rank alone. Nothing is added.

#include "codecs/common/codec.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <functional>
#include <memory>

namespace cohom {

/// `make`: the other codec, for one rank and parts of so many elements; it keeps no state. Every
/// chunk is one piece, and has a part. A part becomes what an allreduce of one rank makes of it.
std::unique_ptr<Codec> make_parts_codec(const std::function<std::unique_ptr<Codec>()>& make,
                                        std::size_t elements, ElementType type);

}  // namespace cohom
