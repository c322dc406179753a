#pragma once
// The codec of an allgather: each rank has a part of the vector, which another codec compresses for
// that rank alone. Nothing is added.

#include "codecs/common/codec.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <memory>

namespace cohom {

/// `own`, `others`: the other codec, for this rank's part and for those of all, of so many
/// elements; of one rank, without state. Every chunk is one piece, and has a part. A part becomes
/// what an allreduce of one rank makes of it.
std::unique_ptr<Codec> make_parts_codec(std::unique_ptr<Codec> own, std::unique_ptr<Codec> others,
                                        std::size_t elements, ElementType type);

}  // namespace cohom
