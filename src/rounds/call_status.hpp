#pragma once
// CallStatus: whether all ranks make the same call, which a maximum over ranks tells.

#include "agreement/call_signature.hpp"
#include "codecs/common/round.hpp"

#include <cohom/error.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace cohom {

class CallStatus {
 public:
  /// `error`: what is wrong with this rank's arguments.
  void begin(const CallSignature& signature, std::optional<Error> error);

  /// This rank's, to become the maximum over ranks.
  [[nodiscard]] Payload words() { return words_; }
  [[nodiscard]] bool is_wrong_here() const { return error_.has_value(); }

  /// Whether this rank's arguments are right. @throws Error
  void check_alone() const;
  /// Whether all ranks' are, and alike, once words() are maxima. @throws Error: mismatch, or of
  /// the kind of a rank's error, on all ranks
  void check();
  /// Whether a check has gone well.
  [[nodiscard]] bool has_been_right() const { return right_; }

 private:
  CallSignature signature_;
  std::optional<Error> error_;
  std::vector<std::uint64_t> words_;
  bool right_ = false;
};

}  // namespace cohom
