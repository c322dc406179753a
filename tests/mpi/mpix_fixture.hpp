#pragma once
// What the tests of the C API share: a communicator that returns errors, and what an error must be.

#include <cohom/mpix.h>

#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace cohom::testing {

/// An MPI_Info that is freed.
class Info {
 public:
  Info() = default;  ///< MPI_INFO_NULL
  Info(std::initializer_list<std::pair<std::string, std::string>> entries);
  Info(Info&& other) noexcept : info_(std::exchange(other.info_, MPI_INFO_NULL)) {}
  Info& operator=(Info&& other) noexcept {
    std::swap(info_, other.info_);
    return *this;
  }
  ~Info();

  void set(const std::string& key, const std::string& value);
  operator MPI_Info() const { return info_; }  // NOLINT: it stands for one

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// MPI's text of an error code.
std::string text_of(int code);

/// Each test has a duplicate of MPI_COMM_WORLD of its own.
class MpixTest : public ::testing::Test {
 protected:
  MpixTest();
  ~MpixTest() override;

  [[nodiscard]] bool last_rank() const { return rank_ == ranks_ - 1; }
  /// 1 + 2 + ... + ranks.
  [[nodiscard]] double sum_of_ones_to_ranks() const { return ranks_ * (ranks_ + 1) / 2.0; }

  /// `code` is an error of ours that all ranks of `comm` have alike, with these words in its text.
  static void expect_error_on_all_ranks(int code, MPI_Comm comm,
                                        const std::vector<std::string>& words);
  /// The same for a local error.
  static void expect_error(int code, const std::vector<std::string>& words);
  /// A plain sum is right.
  static void expect_good_call(MPI_Comm comm);
  /// The same bytes on all ranks of `comm`.
  static void expect_same_on_all_ranks(const void* data, std::size_t bytes, MPI_Comm comm);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int ranks_ = 1;
};

/// Fails when its scope takes a second or more.
class WithinASecond {
 public:
  WithinASecond() = default;
  ~WithinASecond() {
    EXPECT_LT(std::chrono::steady_clock::now() - begin_, std::chrono::seconds(1));
  }
  WithinASecond(const WithinASecond&) = delete;
  WithinASecond& operator=(const WithinASecond&) = delete;

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace cohom::testing
