#include "executor/fallback_rounds.hpp"

#include "base/failure.hpp"
#include "base/log.hpp"

#include <algorithm>

namespace cohom {

FallbackRounds::FallbackRounds(const RoundFactory& factory)
    : factory_(factory), fallback_(factory.rounds()) {
  for (std::size_t r = 0; r < factory.rounds(); ++r)
    wait_for_payload_ |= factory.traits(r).is_fallback() &&
                         factory.traits(r).fallback_size == FallbackSize::when_payload_decoded;
}

bool FallbackRounds::any() const {
  return std::ranges::any_of(factory_.setup().codec->rounds(),
                             [](const Round* round) { return round->traits().is_fallback(); });
}

std::optional<FallbackOffer> FallbackRounds::offer(const std::string& codec) {
  decided_ = true;
  if (!any()) return std::nullopt;
  FallbackOffer offer;
  offer.signature.text("call", "late rounds");
  offer.signature.differs_by(
      ErrorKind::transport,
      "elements of fallback rounds differ when words were changed on their way");
  try {
    for (std::size_t r = 0; r < fallback_.size(); ++r)
      if (factory_.traits(r).is_fallback()) prepare(r, offer.signature);
  } catch (...) {
    offer.failure = current_failure("the fallback rounds of codec " + codec);
  }
  return offer;
}

void FallbackRounds::prepare(std::size_t number, CallSignature& signature) {
  const std::string_view name = factory_.traits(number).name;  // the signature refers to it
  const std::size_t elements = factory_.round(number).fallback_elements();
  const std::size_t max_elements = factory_.setup().elements;
  signature.number(name, elements);
  if (elements > max_elements)
    throw Error(ErrorKind::transport, "round " + std::string(name) + " would have " +
                                          std::to_string(elements) + " elements of " +
                                          std::to_string(max_elements) +
                                          ": words were changed on their way");
  if (elements == 0) return;
  log_once_for_all(
      factory_.setup().place.rank,
      "round " + std::string(name) + " runs: elements that the payload does not hold travel apart");
  Fallback& fallback = fallback_[number];
  fallback.chunking = std::make_unique<Chunking>(factory_.make_chunking(number, elements));
  fallback.round = factory_.make(number, *fallback.chunking);
  fallback.workspace = {host_memory(), fallback.round->workspace_words()};
  fallback.round->set_workspace(fallback.workspace.data());
}

void FallbackRounds::skip() {
  for (Fallback& fallback : fallback_) fallback = {};
}

}  // namespace cohom
