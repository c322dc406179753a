#include "codecs/common/round.hpp"

#include <cohom/error.hpp>

#include <string>

namespace cohom {
namespace {

[[noreturn]] void refuse(const RoundTraits& traits, const char* what) {
  throw Error(ErrorKind::state, "round " + std::string(traits.name) + " " + what);
}

}  // namespace

std::size_t Round::length(std::size_t contributions, const Piece& piece) {
  if (traits_.varies()) refuse(traits_, "does not say how long its payloads are");
  return capacity(contributions, piece.count);
}

std::size_t Round::promote(const Piece& /*piece*/, std::span<const ConstPayload> /*contributions*/,
                           std::size_t /*room*/, Payload /*sum*/) {
  refuse(traits_, "has no narrow form to promote");
}

std::size_t Round::merge(const Piece& /*piece*/, std::span<const ConstPayload> /*sources*/,
                         Payload /*sum*/) {
  refuse(traits_, "is merged word by word");
}

std::size_t Round::widen(const Piece& /*piece*/, std::span<const PartialSum> /*sources*/,
                         std::size_t /*room*/, Payload /*sum*/) {
  refuse(traits_, "has partial sums of one length");
}

void Round::decode(const Piece& /*piece*/, ConstPayload /*sum*/, std::size_t /*contributions*/) {
  refuse(traits_, "agrees and is not decoded");
}

}  // namespace cohom
