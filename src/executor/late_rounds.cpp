#include "executor/late_rounds.hpp"

#include "base/log.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <string>

namespace cohom {

LateRounds::LateRounds(const RoundFactory& factory) : factory_(factory), late_(factory.rounds()) {
  for (std::size_t r = 0; r < factory.rounds(); ++r)
    wait_for_payload_ |=
        factory.traits(r).late() && factory.traits(r).late_size == LateSize::when_payload_decoded;
}

bool LateRounds::any() const {
  return std::ranges::any_of(factory_.setup().codec->rounds(),
                             [](const Round* round) { return round->traits().late(); });
}

void LateRounds::prepare(CallSignature& signature) {
  decided_ = true;
  for (std::size_t r = 0; r < late_.size(); ++r)
    if (factory_.traits(r).late()) prepare(r, signature);
}

void LateRounds::prepare(std::size_t number, CallSignature& signature) {
  const std::string_view name = factory_.traits(number).name;  // the signature refers to it
  const std::size_t elements = factory_.round(number).late_elements();
  const std::size_t most = factory_.setup().elements;
  signature.number(name, elements);
  if (elements > most)
    throw Error(ErrorKind::transport,
                "round " + std::string(name) + " would have " + std::to_string(elements) +
                    " elements of " + std::to_string(most) + ": words were changed on their way");
  if (elements == 0) return;
  log_once_for_all(factory_.setup().rank,
                   "round " + std::string(name) +
                       " runs: elements that the payload cannot hold, or lost, travel apart");
  Late& late = late_[number];
  late.chunking = std::make_unique<Chunking>(factory_.make_chunking(number, elements));
  late.round = factory_.make(number, *late.chunking);
  late.workspace = {host_memory(), late.round->workspace_words()};
  late.round->set_workspace(late.workspace.data());
}

void LateRounds::skip() {
  for (Late& late : late_) late = {};
}

}  // namespace cohom
