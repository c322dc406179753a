#pragma once
// BoardExchange: all ranks' AgreementWords by a CallBoard, and the sum of their vectors, if all of
// them have short ones. The same sum, to the last bit, as by messages (MaximumExchange).

#include "agreement/agreement_words.hpp"
#include "agreement/call_board.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace cohom {

class BoardExchange {
 public:
  /// Both outlive it. `ranks`: more than one, and CallBoard::max_ranks at most.
  BoardExchange(CallBoard& board, std::uint64_t number, AgreementWords& words, int rank, int ranks)
      : board_(board), number_(number), words_(words), rank_(rank), ranks_(ranks) {}

  /// Posts this rank's words, if there is room and it has not done so. Who ends the call early
  /// tells the board.
  void begin();
  /// In place of begin(): tells what this rank has, and takes no other part.
  void tell(const AgreementWords::Table& own);
  /// Reads what other ranks posted, and with the last of it adds up. Whether anything moved.
  /// @throws Error(transport) for words that were changed, or of a rank that has ended
  bool poll();

  /// Once done: this rank reads the posts no more.
  void end() noexcept { board_.end(number_, false); }

  /// Then the sum, if the words have one, is in the output, unless a rank failed or calls differ.
  [[nodiscard]] bool done() const { return done_; }
  /// Whom it waits for, unless it is done.
  [[nodiscard]] int peer() const { return peer_ + (peer_ >= rank_ ? 1 : 0); }

 private:
  bool post();
  void add();

  CallBoard& board_;
  std::uint64_t number_;
  AgreementWords& words_;
  AgreementWords::Post own_;
  int rank_, ranks_;
  int peer_ = 0;  ///< of the other ranks, the first that has not been read
  bool posted_ = false, done_ = false;
  std::array<const std::byte*, CallBoard::max_ranks> elements_;  ///< by rank, as far as it is read
};

}  // namespace cohom
