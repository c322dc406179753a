#pragma once
// Wrong calls of all ranks, which end in an error on all of them and leave the communicator as good
// as before.

#include "loopback_ranks.hpp"

#include <cohom/communicator.hpp>
#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>

namespace cohom::test {

/// All ranks make the call, and all get an error of the kind that says so. Then `next`, which
/// should be right.
inline void expect_errors(int ranks, ErrorKind kind, std::string_view text,
                          const std::function<void(int, Communicator&)>& call,
                          const std::function<void(int, Communicator&)>& next) {
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    try {
      call(rank, communicator);
      ADD_FAILURE() << "no error: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
    next(rank, communicator);
  });
}

}  // namespace cohom::test
