#pragma once
// JobKey: what makes ranks one job, for aggregators. Its public half names the job there, its
// private half, which only the job's ranks have, signs for the job's seats.

#include "aggregation/auth/cryptography.hpp"

#include <cohom/offload.hpp>

#include <cstdint>

namespace cohom::offload {

/// The number by which packets and logs know the job of a public key. To find another key of the
/// same number takes 2^64 tries, and the aggregator compares the keys themselves.
inline std::uint64_t job_of(const PublicKey& key) { return short_hash(as_text(key)); }

class JobKey {
 public:
  /// @throws Error(unsupported) in builds without libsodium.
  explicit JobKey(const JobSecret& secret) : key_(secret), id_(job_of(key_.public_key())) {}
  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] const PublicKey& public_key() const { return key_.public_key(); }
  [[nodiscard]] Signature sign(std::string_view text) const { return key_.sign(text); }

 private:
  SigningKey key_;
  std::uint64_t id_;
};

}  // namespace cohom::offload
