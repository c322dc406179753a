#include "codecs/common/codec_interface.hpp"

#include <cohom/error.hpp>

namespace cohom {

std::size_t Codec::widen(int /*round*/, const Piece& /*piece*/, const Agreed& /*agreed*/,
                         std::span<const ConstWords> /*contributions*/, Words /*sum*/) {
  throw Error(ErrorKind::state, "this codec has no narrow form to widen");
}

}  // namespace cohom
