#pragma once
// Jobs by small numbers.

#include "aggregation/auth/job_key.hpp"

#include <cstdint>
#include <cstring>

namespace cohom::test {

inline JobSecret job_secret(std::uint64_t number) {
  JobSecret secret{};
  std::memcpy(secret.data(), &number, sizeof number);
  return secret;
}

inline offload::JobKey job(std::uint64_t number) { return offload::JobKey(job_secret(number)); }

}  // namespace cohom::test
