// The C API: sums to which a rank contributes any number of vectors.

#include "codecs/common/long_accumulator.hpp"
#include "mpix_fixture.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace cohom::testing {
namespace {

class Exact {
 public:
  explicit Exact(MPI_Count count, MPI_Datatype datatype = MPI_DOUBLE) {
    EXPECT_EQ(MPIX_Compressed_exact_create(count, datatype, &exact_), MPI_SUCCESS);
  }
  ~Exact() {
    EXPECT_EQ(MPIX_Compressed_exact_free(&exact_), MPI_SUCCESS);
    EXPECT_EQ(exact_, MPIX_COMPRESSED_EXACT_NULL);
  }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
  operator MPIX_Compressed_exact() const { return exact_; }  // NOLINT: it stands for one

 private:
  MPIX_Compressed_exact exact_ = MPIX_COMPRESSED_EXACT_NULL;
};

class MpixExact : public MpixTest {
 protected:
  static constexpr int vectors = 30;

  /// Numbers over 300 binades, of both signs.
  static double element(int vector, std::size_t i) {
    const int exponent = (vector * 77 + static_cast<int>(i) * 13) % 300 - 150;
    return std::ldexp(vector % 3 == 0 ? -1.5 : 1.25, exponent);
  }
  /// Of all vectors, each added by the rank that `owner` says.
  [[nodiscard]] std::vector<double> reduce(std::size_t count,
                                           const std::function<int(int vector)>& owner,
                                           const Info& info = {}) const {
    const Exact exact(static_cast<MPI_Count>(count));
    std::vector<double> vector(count), result(count);
    for (int v = 0; v < vectors; ++v) {
      if (owner(v) != rank_) continue;
      for (std::size_t i = 0; i < count; ++i) vector[i] = element(v, i);
      EXPECT_EQ(MPIX_Compressed_exact_add(exact, vector.data()), MPI_SUCCESS);
    }
    EXPECT_EQ(MPIX_Compressed_exact_allreduce(exact, result.data(), MPI_SUM, comm_, info),
              MPI_SUCCESS);
    return result;
  }
  static std::vector<double> exact_sums(std::size_t count, std::uint64_t divisor) {
    std::vector<double> sums(count);
    for (std::size_t i = 0; i < count; ++i) {
      LongAccumulator sum;
      for (int v = 0; v < vectors; ++v) sum.add(element(v, i));
      sums[i] = sum.rounded(ElementType::f64, divisor);
    }
    return sums;
  }
};

TEST_F(MpixExact, SumsDoNotDependOnWhoAddsWhat) {
  for (const std::size_t count : {20u, 3000u})
    for (const std::string op : {"sum", "mean"}) {
      const Info info{{"cohom_op", op}};
      const auto exact = exact_sums(count, op == "mean" ? vectors : 1);
      EXPECT_EQ(reduce(
                    count, [&](int) { return ranks_ - 1; }, info),
                exact)
          << op;
      EXPECT_EQ(reduce(
                    count, [&](int v) { return v % ranks_; }, info),
                exact)
          << op;
      EXPECT_EQ(reduce(
                    count, [&](int v) { return v * ranks_ / vectors; }, info),
                exact)
          << op;
    }
}

TEST_F(MpixExact, VectorsStayUntilAReset) {
  const Exact exact(100, MPI_FLOAT);
  std::vector<float> data(100, 1.5f), result(100);
  const auto expect_sum = [&](float value) {
    EXPECT_EQ(MPIX_Compressed_exact_allreduce(exact, result.data(), MPI_SUM, comm_, MPI_INFO_NULL),
              MPI_SUCCESS);
    EXPECT_EQ(result, std::vector<float>(100, value));
  };
  const auto ranks = static_cast<float>(ranks_);
  expect_sum(0);
  ASSERT_EQ(MPIX_Compressed_exact_add(exact, data.data()), MPI_SUCCESS);
  expect_sum(1.5f * ranks);
  ASSERT_EQ(MPIX_Compressed_exact_add(exact, data.data()), MPI_SUCCESS);
  expect_sum(3 * ranks);
  ASSERT_EQ(MPIX_Compressed_exact_reset(exact), MPI_SUCCESS);
  expect_sum(0);
  ASSERT_EQ(MPIX_Compressed_exact_add(exact, data.data()), MPI_SUCCESS);
  expect_sum(1.5f * ranks);
}

TEST_F(MpixExact, HalfFloatsAndNoElements) {
  for (const MPI_Datatype datatype : {MPIX_Float16(), MPIX_Bfloat16()}) {
    const Exact exact(40, datatype);
    std::vector<unsigned short> result(40, 7);
    EXPECT_EQ(MPIX_Compressed_exact_allreduce(exact, result.data(), MPI_SUM, comm_, MPI_INFO_NULL),
              MPI_SUCCESS);
    EXPECT_EQ(result, std::vector<unsigned short>(40, 0));
  }
  const Exact none(0);
  EXPECT_EQ(MPIX_Compressed_exact_add(none, nullptr), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Compressed_exact_allreduce(none, nullptr, MPI_SUM, comm_, MPI_INFO_NULL),
            MPI_SUCCESS);
}

TEST_F(MpixExact, LocalErrors) {
  MPIX_Compressed_exact exact = MPIX_COMPRESSED_EXACT_NULL;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  expect_error(MPIX_Compressed_exact_create(-1, MPI_FLOAT, &exact), {"count is -1"});
  expect_error(MPIX_Compressed_exact_create(1, MPI_INT, &exact), {"MPI_INT", "MPI_FLOAT"});
  EXPECT_EQ(exact, MPIX_COMPRESSED_EXACT_NULL);
  const Exact sum(10);
  expect_error(MPIX_Compressed_exact_add(sum, nullptr), {"vector is null", "10 elements of f64"});
  expect_error(MPIX_Compressed_exact_add(sum, MPI_IN_PLACE), {"buf is MPI_IN_PLACE"});
}

TEST_F(MpixExact, WrongCallsOnOneRankReachAll) {
  std::vector<double> result(100);
  struct Call {
    MPIX_Compressed_exact exact;
    void* recvbuf;
    MPI_Op op = MPI_SUM;
    Info info = {};
  };
  const auto expect_wrong = [&](const std::vector<std::string>& words,
                                const std::function<void(Call&)>& spoil) {
    const Exact exact(100), longer(101);
    Call call{exact, result.data()};
    if (last_rank()) spoil(call);
    const int code =
        MPIX_Compressed_exact_allreduce(call.exact, call.recvbuf, call.op, comm_, call.info);
    expect_error_on_all_ranks(code, comm_, words);
    expect_good_call(comm_);
  };
  expect_wrong({"exact is a null pointer"}, [](Call& call) { call.exact = nullptr; });
  expect_wrong({"output is null"}, [](Call& call) { call.recvbuf = nullptr; });
  expect_wrong({"recvbuf is MPI_IN_PLACE"}, [](Call& call) { call.recvbuf = MPI_IN_PLACE; });
  expect_wrong({"MPI_MAX", "MPI_SUM"}, [](Call& call) { call.op = MPI_MAX; });
  expect_wrong({"codec \"thc\"", "exact"}, [](Call& call) {
    call.info = Info{{"cohom_codec", "thc"}};
  });
  expect_wrong({"cohom_codek"}, [](Call& call) { call.info = Info{{"cohom_codek", "exact"}}; });
  if (ranks_ == 1) return;
  const Exact exact(last_rank() ? 101 : 100);
  result.resize(101);
  expect_error_on_all_ranks(
      MPIX_Compressed_exact_allreduce(exact, result.data(), MPI_SUM, comm_, MPI_INFO_NULL), comm_,
      {"count", "100", "101"});
}

/// The codec of the environment is for other calls.
TEST_F(MpixExact, ReadNoCodecOfTheEnvironment) {
  ASSERT_EQ(setenv("COHOM_CODEC", "thc", 1), 0);
  const Exact exact(5000, MPI_FLOAT);
  std::vector<float> data(5000, 0.1f), result(5000);
  for (int v = 0; v < 4; ++v) ASSERT_EQ(MPIX_Compressed_exact_add(exact, data.data()), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Compressed_exact_allreduce(exact, result.data(), MPI_SUM, comm_, MPI_INFO_NULL),
            MPI_SUCCESS);
  const auto right = static_cast<float>(4.0 * ranks_ * static_cast<double>(0.1f));
  EXPECT_EQ(result, std::vector<float>(5000, right));
  ASSERT_EQ(unsetenv("COHOM_CODEC"), 0);
}

}  // namespace
}  // namespace cohom::testing
