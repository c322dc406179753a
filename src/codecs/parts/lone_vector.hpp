#pragma once
// LoneVector: a codec for one rank, and its words of one vector in a row, which another rank makes
// elements of.
//
// The first word says the form. In the form of rounds, in the order of the codec's: how many words
// the round has, and these; a round that the words before it make needless is not there. The other
// form is the elements themselves: of vectors with so many outliers that rounds would be longer.

#include "codecs/common/codec.hpp"
#include "kernels/table/kernel_table.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace cohom {

class LoneVector {
 public:
  /// `codec`: of a plan of one rank, for vectors of so many elements, in the host's memory.
  LoneVector(std::unique_ptr<Codec> codec, std::size_t elements, ElementType type);

  /// Takes the memory that calls need. `encodes`: some are encode().
  void reserve(bool encodes);
  /// Most words of a vector of so many elements; of the codec's, the same in all calls.
  [[nodiscard]] std::size_t capacity(std::size_t elements) const {
    return elements == piece_.count ? capacity_ : most_words(elements);
  }
  /// `input` is only read. `out` has the capacity. Returns the words written.
  std::size_t encode(const void* input, std::uint64_t step, Payload out);
  /// Writes the elements. @throws Error(transport) for words that no rank can have sent
  void decode(ConstPayload words, std::uint64_t step, void* output);

 private:
  class Agreed final : public AgreedPayload {
   public:
    [[nodiscard]] ConstPayload words(const Piece& /*piece*/) const override { return words_; }
    void keep(ConstPayload words) { words_ = words; }

   private:
    ConstPayload words_;
  };

  [[nodiscard]] std::size_t most_words(std::size_t elements) const;
  [[nodiscard]] std::span<Round* const> rounds() const { return codec_->rounds(); }
  void begin(const void* input, std::uint64_t step, void* output);
  /// Calls words_of(round, piece) for each round that the call has, and takes its words; ends
  /// early, and returns false, where there are none.
  template <class WordsOf>
  bool run(bool decodes, WordsOf words_of);
  /// Of the call in flight; 0: it has no such round. @throws Error(transport)
  [[nodiscard]] std::size_t elements_of(Round& round);
  [[nodiscard]] ConstPayload sum_of(Round& round, const Piece& piece, ConstPayload words);
  void decode_rounds(ConstPayload words, std::uint64_t step, void* output);
  std::size_t encode_elements(const void* input, Payload out) const;
  void decode_elements(ConstPayload words, void* output) const;

  std::unique_ptr<Codec> codec_;
  ElementType type_;
  Piece piece_;                      ///< the vector
  std::size_t capacity_;             ///< as before any call: rounds may learn more
  std::vector<Agreed> agreed_;       ///< by round
  std::vector<std::uint64_t> sums_;  ///< what promote() made, of all rounds
  std::size_t sum_words_ = 0;        ///< of them, in the call in flight
  /// Of encode(), where the payload must be decoded before it is known what comes behind it.
  std::vector<std::byte> output_;
};

}  // namespace cohom
