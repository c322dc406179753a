#pragma once
// DoublingHops: with whom a rank exchanges what it knows, so that all ranks know everything at the
// end, and each of them has heard of every other one once: what is added on the way is a sum.
//
// Recursive doubling. In the k-th exchange groups of 2^k neighbouring members tell each other what
// they know. When n is no power of two, the first 2 * (n - 2^m) ranks pair up: the even rank of a
// pair is a member for both, begins with what the odd one tells it and passes the result on.
// (The schedule of that name, schedule/algorithms/recursive_doubling.cpp, has the same order.)

#include <bit>

namespace cohom {

/// One message, or one each way.
struct DoublingHop {
  int peer = 0;
  bool sends = false;
  bool receives = false;
  /// What this rank knows stands before what arrives, in the order of ranks.
  bool own_first = true;
  /// What arrives is of all ranks, this one's included.
  bool final = false;
};

class DoublingHops {
 public:
  DoublingHops(int rank, int ranks)
      : rank_(rank),
        exchanges_(std::bit_width(static_cast<unsigned>(ranks)) - 1),
        pairs_(ranks - (1 << exchanges_)) {}

  [[nodiscard]] int count() const {
    if (hands_in()) return 1;
    return exchanges_ + (is_paired() ? 2 : 0);
  }

  /// `number`: below count().
  [[nodiscard]] DoublingHop operator[](int number) const {
    if (hands_in()) return {.peer = rank_ - 1, .sends = true, .receives = true, .final = true};
    if (is_paired() && number == 0) return {.peer = rank_ + 1, .receives = true};
    if (is_paired() && number == count() - 1) return {.peer = rank_ + 1, .sends = true};
    const int member = is_paired() ? rank_ / 2 : rank_ - pairs_;
    const int partner = member ^ (1 << (number - (is_paired() ? 1 : 0)));
    return {.peer = partner < pairs_ ? 2 * partner : partner + pairs_,
            .sends = true,
            .receives = true,
            .own_first = member < partner};
  }

 private:
  [[nodiscard]] bool is_paired() const { return rank_ < 2 * pairs_; }
  /// The odd rank of a pair.
  [[nodiscard]] bool hands_in() const { return is_paired() && rank_ % 2 == 1; }

  int rank_;
  int exchanges_;  ///< among members
  int pairs_;
};

}  // namespace cohom
