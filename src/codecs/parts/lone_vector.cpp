#include "codecs/parts/lone_vector.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace cohom {

namespace {

/// First words.
enum class FirstWord : std::uint64_t { rounds = 0, elements = 1 };

/// Of the only rank: a contribution alone where it has that form, as by `direct`.
std::size_t contributions(const Round& round) { return round.traits().narrow() ? alone : 1; }

std::size_t most_words_of(const Round& round, std::size_t elements) {
  return round.capacity(contributions(round), elements);
}

std::size_t words_of_elements(std::size_t elements, ElementType type) {
  return (elements * size_of(type) + 7) / 8;
}

std::string name_of(const Round& round) { return std::string(round.traits().name); }

}  // namespace

LoneVector::LoneVector(std::unique_ptr<Codec> codec, std::size_t elements, ElementType type)
    : codec_(std::move(codec)),
      type_(type),
      piece_{.first = 0, .count = elements, .index = 0},
      capacity_(most_words(elements)),
      agreed_(rounds().size()) {
  for (std::size_t i = 0; i < rounds().size(); ++i)
    if (rounds()[i]->traits().time == RoundTime::before_payload)
      rounds()[i]->keep_agreed_in(agreed_[i]);
}

void LoneVector::reserve(bool encodes) {
  codec_->reserve(piece_.count, piece_.count);
  std::size_t sum_words = 0;
  for (const Round* const round : rounds())
    if (round->traits().narrow()) sum_words += round->capacity(1, piece_.count);
  sums_.resize(sum_words);
  const bool decodes = std::ranges::any_of(rounds(), [](const Round* round) {
    return round->traits().is_fallback() &&
           round->traits().fallback_size == FallbackSize::when_payload_decoded;
  });
  if (encodes && decodes) output_.resize(piece_.count * size_of(type_));
}

/// Of rounds that have no bound before the call, only what the elements need.
std::size_t LoneVector::most_words(std::size_t elements) const {
  std::size_t words = 0;
  for (const Round* const round : rounds()) words += 1 + most_words_of(*round, elements);
  return 1 + std::max(words, words_of_elements(elements, type_));
}

void LoneVector::begin(const void* input, std::uint64_t step, void* output) {
  sum_words_ = 0;
  codec_->begin({.type = type_,
                 .input = input,
                 .output = output,
                 .step = step,
                 .pieces = std::span(&piece_, 1)});
}

std::size_t LoneVector::elements_of(Round& round) {
  if (!round.traits().is_fallback()) return codec_->skips(round) ? 0 : piece_.count;
  const std::size_t elements = round.fallback_elements();
  if (elements > piece_.count)
    throw Error(ErrorKind::transport, "round " + name_of(round) + " of a part would have " +
                                          std::to_string(elements) + " elements of " +
                                          std::to_string(piece_.count) +
                                          ": words were changed on their way");
  return elements;
}

ConstPayload LoneVector::sum_of(Round& round, const Piece& piece, ConstPayload words) {
  if (!round.traits().narrow()) return words;
  const Payload room = Payload(sums_).subspan(sum_words_, round.capacity(1, piece.count));
  sum_words_ += room.size();
  return room.first(round.promote(piece, std::span(&words, 1), 1, room));
}

template <class WordsOf>
bool LoneVector::run(bool decodes, WordsOf words_of) {
  for (std::size_t i = 0; i < rounds().size(); ++i) {
    Round& round = *rounds()[i];
    const Piece piece{.first = 0, .count = elements_of(round), .index = 0};
    if (piece.count == 0) continue;
    const std::optional<ConstPayload> words = words_of(round, piece);
    if (!words) return false;
    const ConstPayload sum = sum_of(round, piece, *words);
    if (round.traits().time == RoundTime::before_payload)
      agreed_[i].keep(sum);
    else if (decodes)
      round.decode(piece, sum, 1);
  }
  return true;
}

std::size_t LoneVector::encode(const void* input, std::uint64_t step, Payload out) {
  begin(input, step, output_.data());
  std::size_t end = 0;
  out[end++] = static_cast<std::uint64_t>(FirstWord::rounds);
  const bool fits = run(!output_.empty(), [&](Round& round, const Piece& piece) {
    const std::size_t most = most_words_of(round, piece.count);
    if (out.size() - end <= most) return std::optional<ConstPayload>();
    const Payload room = out.subspan(end + 1, most);
    const std::size_t words = round.encode(contributions(round), piece, room);
    out[end] = words;
    end += 1 + words;
    return std::optional<ConstPayload>(room.first(words));
  });
  return fits ? end : encode_elements(input, out);
}

void LoneVector::decode(ConstPayload words, std::uint64_t step, void* output) {
  const std::uint64_t form = words.empty() ? ~std::uint64_t{0} : words.front();
  if (form == static_cast<std::uint64_t>(FirstWord::rounds))
    return decode_rounds(words.subspan(1), step, output);
  if (form == static_cast<std::uint64_t>(FirstWord::elements))
    return decode_elements(words.subspan(1), output);
  throw Error(ErrorKind::transport,
              "a part of " + std::to_string(words.size()) +
                  " words has no form that there is: words were changed on their way");
}

void LoneVector::decode_rounds(ConstPayload words, std::uint64_t step, void* output) {
  // Some codecs keep input elements for a fallback round when they decode. Here no round is
  // encoded, so any elements will do.
  begin(output, step, output);
  run(true, [&](Round& round, const Piece& piece) {
    const std::size_t most = most_words_of(round, piece.count);
    const std::uint64_t length = words.empty() ? 0 : words.front();
    if (words.empty() || length > most || length > words.size() - 1 ||
        (!round.traits().varies() && length != most))
      throw Error(ErrorKind::transport,
                  "round " + name_of(round) + " of a part has " + std::to_string(length) +
                      " words, of which " + std::to_string(words.empty() ? 0 : words.size() - 1) +
                      " are there; " + (round.traits().varies() ? "at most " : "") +
                      std::to_string(most) + " are right: words were changed on their way");
    const ConstPayload own = words.subspan(1, length);
    words = words.subspan(1 + length);
    return std::optional(own);
  });
  if (!words.empty())
    throw Error(ErrorKind::transport, std::to_string(words.size()) +
                                          " words too many behind those of a part: words were "
                                          "changed on their way");
}

std::size_t LoneVector::encode_elements(const void* input, Payload out) const {
  const std::size_t words = words_of_elements(piece_.count, type_);
  out[0] = static_cast<std::uint64_t>(FirstWord::elements);
  out[words] = 0;  // the padding of a ragged last word
  std::memcpy(out.data() + 1, input, piece_.count * size_of(type_));
  return 1 + words;
}

/// NaNs become canonical, as in sums.
void LoneVector::decode_elements(ConstPayload words, void* output) const {
  const std::size_t right = words_of_elements(piece_.count, type_);
  if (words.size() != right)
    throw Error(ErrorKind::transport,
                "the elements of a part have " + std::to_string(words.size()) + " words; " +
                    std::to_string(right) + " are right: words were changed on their way");
  kernels::kernel_table().finish_elements(type_, words.data(), piece_.count, 1, output);
}

}  // namespace cohom
