// The C API, used wrongly: a clear error on every rank within a second, and the next correct call
// works. Each wrong argument is tried on all ranks and on the last one only.

#include "mpix_fixture.hpp"

#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

namespace cohom::testing {
namespace {

constexpr MPI_Count count = 20000;

/// Arguments of a call, right unless somebody changes them.
struct Arguments {
  std::vector<float> input = std::vector<float>(count, 1.0f);
  std::vector<float> output = std::vector<float>(count, 0.0f);
  const void* sendbuf = input.data();
  void* recvbuf = output.data();
  MPI_Count elements = count;
  MPI_Datatype datatype = MPI_FLOAT;
  MPI_Op op = MPI_SUM;
  Info info{{"cohom_codec", "thc"}, {"cohom_algorithm", "ring"}};
};

struct Wrong {
  std::string name;
  std::function<void(Arguments&)> spoil;
  std::vector<std::string> words;  ///< of the error's text
  bool fits_a_plan = true;         ///< wrong when a plan is created, too
};

void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.name; }

std::function<void(Arguments&)> set(const std::string& key, const std::string& value) {
  return [key, value](Arguments& call) { call.info.set(key, value); };
}

std::vector<Wrong> wrong_choices() {
  return {
      {"UnknownCodec", set("cohom_codec", "thd"), {"thd", "thc"}},
      {"UnknownParameter", set("cohom_codec", "thc:bitz=4"), {"bitz", "did you mean bits"}},
      {"ValueOutOfRange", set("cohom_codec", "thc:bits=99"), {"bits=99", "1 to 8"}},
      {"LaneTooNarrow", set("cohom_codec", "thc:lane=4"), {"lane=4", "needs lane="}},
      {"UnknownAlgorithm", set("cohom_algorithm", "rng"), {"rng", "ring"}},
      {"UnknownKey", set("cohom_codek", "thc"), {"cohom_codek", "did you mean cohom_codec"}},
      {"UnknownOp", set("cohom_op", "median"), {"cohom_op=median", "sum", "mean"}},
      {"SegmentIsNoNumber", set("cohom_segment", "many"), {"cohom_segment=many"}},
      {"FeedbackWithoutName", set("cohom_codec", "thc:error_feedback=on"), {"cohom_buffer"}, false},
  };
}

std::vector<Wrong> wrong_arguments() {
  return {
      {"NegativeCount", [](auto& call) { call.elements = -1; }, {"count is -1"}},
      {"CountOverflows",
       [](auto& call) { call.elements = std::numeric_limits<MPI_Count>::max() / 2; },
       {"count 4611686018427387903 overflows"}},
      {"MaxOp", [](auto& call) { call.op = MPI_MAX; }, {"MPI_MAX", "MPI_SUM"}},
      {"NullOp", [](auto& call) { call.op = MPI_OP_NULL; }, {"MPI_OP_NULL", "MPI_SUM"}},
      {"IntDatatype", [](auto& call) { call.datatype = MPI_INT; }, {"MPI_INT", "MPI_FLOAT"}},
      {"NullDatatype",
       [](auto& call) { call.datatype = MPI_DATATYPE_NULL; },
       {"MPI_DATATYPE_NULL", "MPIX_Bfloat16()"}},
      {"NullSendbuf", [](auto& call) { call.sendbuf = nullptr; }, {"input is null"}, false},
      {"NullRecvbuf", [](auto& call) { call.recvbuf = nullptr; }, {"output is null"}, false},
      {"OverlappingBuffers",
       [](auto& call) { call.sendbuf = call.output.data() + 7; },
       {"overlap", "28 bytes apart"},
       false},
      {"RecvbufInPlace",
       [](auto& call) { call.recvbuf = MPI_IN_PLACE; },
       {"recvbuf is MPI_IN_PLACE"},
       false},
  };
}

class MpixBadInput : public MpixTest, public ::testing::WithParamInterface<Wrong> {
 protected:
  /// Runs `call` with wrong arguments on all ranks, then on the last rank only.
  template <class Call>
  void expect_errors(Call&& call) {
    for (const bool everywhere : {true, false}) {
      SCOPED_TRACE(everywhere ? "wrong on all ranks" : "wrong on the last rank");
      Arguments arguments;
      if (everywhere || last_rank()) GetParam().spoil(arguments);
      int code = MPI_SUCCESS;
      {
        const WithinASecond limit;
        code = call(arguments);
      }
      expect_error_on_all_ranks(code, comm_, GetParam().words);
      expect_good_call(comm_);
    }
  }
};

TEST_P(MpixBadInput, IsAnErrorOfTheBlockingCall) {
  expect_errors([this](const Arguments& call) {
    return MPIX_Allreduce_compressed(call.sendbuf, call.recvbuf, call.elements, call.datatype,
                                     call.op, comm_, call.info);
  });
}

TEST_P(MpixBadInput, IsAnErrorOfTheRequest) {
  expect_errors([this](const Arguments& call) {
    MPIX_Compressed_request request = MPIX_COMPRESSED_REQUEST_NULL;
    EXPECT_EQ(MPIX_Iallreduce_compressed(call.sendbuf, call.recvbuf, call.elements, call.datatype,
                                         call.op, comm_, call.info, &request),
              MPI_SUCCESS);
    const int code = MPIX_Compressed_wait(&request);
    EXPECT_EQ(request, MPIX_COMPRESSED_REQUEST_NULL);
    return code;
  });
}

TEST_P(MpixBadInput, IsAnErrorOfTheTestedRequest) {
  expect_errors([this](const Arguments& call) {
    MPIX_Compressed_request request = MPIX_COMPRESSED_REQUEST_NULL;
    MPIX_Iallreduce_compressed(call.sendbuf, call.recvbuf, call.elements, call.datatype, call.op,
                               comm_, call.info, &request);
    int code = MPI_SUCCESS;
    for (int done = 0; done == 0;) code = MPIX_Compressed_test(&request, &done);
    EXPECT_EQ(request, MPIX_COMPRESSED_REQUEST_NULL);
    return code;
  });
}

TEST_P(MpixBadInput, IsAnErrorOfThePlan) {
  if (!GetParam().fits_a_plan) return;
  expect_errors([this](const Arguments& call) {
    MPIX_Compressed_plan plan = MPIX_COMPRESSED_PLAN_NULL;
    const int code =
        MPIX_Compressed_plan_create(call.elements, call.datatype, call.op, comm_, call.info, &plan);
    EXPECT_EQ(plan, MPIX_COMPRESSED_PLAN_NULL);
    return code;
  });
}

std::string name_of_case(const ::testing::TestParamInfo<Wrong>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Choices, MpixBadInput, ::testing::ValuesIn(wrong_choices()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Arguments, MpixBadInput, ::testing::ValuesIn(wrong_arguments()),
                         name_of_case);

/// What is right on each rank, and different on the last one.
class MpixMismatch : public MpixTest, public ::testing::WithParamInterface<Wrong> {};

TEST_P(MpixMismatch, IsAnErrorOnAllRanks) {
  if (ranks_ == 1) GTEST_SKIP() << "one rank agrees with itself";
  Arguments call;
  if (last_rank()) GetParam().spoil(call);
  int code = MPI_SUCCESS;
  {
    const WithinASecond limit;
    code = MPIX_Allreduce_compressed(call.sendbuf, call.recvbuf, call.elements, call.datatype,
                                     call.op, comm_, call.info);
  }
  expect_error_on_all_ranks(code, comm_, GetParam().words);
  expect_good_call(comm_);
  MPIX_Compressed_plan plan = MPIX_COMPRESSED_PLAN_NULL;
  code =
      MPIX_Compressed_plan_create(call.elements, call.datatype, call.op, comm_, call.info, &plan);
  if (GetParam().fits_a_plan)
    expect_error_on_all_ranks(code, comm_, GetParam().words);
  else
    MPIX_Compressed_plan_free(&plan);
  expect_good_call(comm_);
}

std::vector<Wrong> differences() {
  const std::string disagree = "ranks disagree on ";
  return {
      {"Codec", set("cohom_codec", "raw"), {disagree + "codec"}},
      {"CodecParameter", set("cohom_codec", "thc:bits=3"), {disagree + "codec"}},
      {"Algorithm", set("cohom_algorithm", "direct"), {disagree + "algorithm"}},
      {"Mean", set("cohom_op", "mean"), {disagree + "op"}},
      {"Segment", set("cohom_segment", "4096"), {disagree + "segment"}},
      {"Count", [](auto& call) { call.elements = 19999; }, {disagree + "count", "19999", "20000"}},
      {"Datatype",
       [](auto& call) { call.datatype = MPIX_Bfloat16(); },
       {disagree + "element type"}},
  };
}

INSTANTIATE_TEST_SUITE_P(Of, MpixMismatch, ::testing::ValuesIn(differences()), name_of_case);

}  // namespace
}  // namespace cohom::testing
