// The C API: errors that only this rank can have, errors without a usable communicator, and where
// errors go.

#include "mpix_fixture.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace cohom::testing {
namespace {

using MpixErrors = MpixTest;

/// Sums one float by the blocking call.
int sum_one(MPI_Comm comm, MPI_Op op = MPI_SUM) {
  float one = 1;
  return MPIX_Allreduce_compressed(MPI_IN_PLACE, &one, 1, MPI_FLOAT, op, comm, MPI_INFO_NULL);
}

TEST_F(MpixErrors, NullCommunicator) {
  const WithinASecond limit;
  expect_error(sum_one(MPI_COMM_NULL), {"MPI_COMM_NULL"});
  MPIX_Compressed_request request = MPIX_COMPRESSED_REQUEST_NULL;
  float one = 1;
  expect_error(MPIX_Iallreduce_compressed(MPI_IN_PLACE, &one, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_NULL,
                                          MPI_INFO_NULL, &request),
               {"MPI_COMM_NULL"});
  EXPECT_EQ(request, MPIX_COMPRESSED_REQUEST_NULL);
  MPIX_Compressed_plan plan = MPIX_COMPRESSED_PLAN_NULL;
  expect_error(
      MPIX_Compressed_plan_create(1, MPI_FLOAT, MPI_SUM, MPI_COMM_NULL, MPI_INFO_NULL, &plan),
      {"MPI_COMM_NULL"});
  expect_error(MPIX_Compressed_reset_state(MPI_COMM_NULL, "buffer"), {"MPI_COMM_NULL"});
  expect_good_call(comm_);
}

TEST_F(MpixErrors, Intercommunicator) {
  if (ranks_ == 1) GTEST_SKIP() << "an intercommunicator needs two groups";
  const int group = rank_ % 2;
  MPI_Comm local = MPI_COMM_NULL, inter = MPI_COMM_NULL;
  MPI_Comm_split(comm_, group, rank_, &local);
  ASSERT_EQ(MPI_Intercomm_create(local, 0, comm_, 1 - group, 5, &inter), MPI_SUCCESS);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  {
    const WithinASecond limit;
    expect_error(sum_one(inter), {"intercommunicator", "MPI_Intercomm_merge"});
  }
  MPI_Comm_free(&inter);
  expect_good_call(local);
  MPI_Comm_free(&local);
  expect_good_call(comm_);
}

TEST_F(MpixErrors, NullRequestOnOneRankReachesAll) {
  std::vector<float> data(100, 1.0f);
  MPIX_Compressed_request request = MPIX_COMPRESSED_REQUEST_NULL;
  int code = MPIX_Iallreduce_compressed(MPI_IN_PLACE, data.data(), 100, MPI_FLOAT, MPI_SUM, comm_,
                                        MPI_INFO_NULL, last_rank() ? nullptr : &request);
  if (!last_rank()) code = MPIX_Compressed_wait(&request);
  expect_error_on_all_ranks(code, comm_, {"request is a null pointer"});
  expect_good_call(comm_);
}

TEST_F(MpixErrors, NullPlanPointerOnOneRankReachesAll) {
  MPIX_Compressed_plan plan = MPIX_COMPRESSED_PLAN_NULL;
  const int code = MPIX_Compressed_plan_create(100, MPI_FLOAT, MPI_SUM, comm_, MPI_INFO_NULL,
                                               last_rank() ? nullptr : &plan);
  expect_error_on_all_ranks(code, comm_, {"plan is a null pointer"});
  EXPECT_EQ(plan, MPIX_COMPRESSED_PLAN_NULL);
  expect_good_call(comm_);
}

TEST_F(MpixErrors, AThreadForCallsNeedsThreadMultiple) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  if (provided == MPI_THREAD_MULTIPLE) GTEST_SKIP() << "MPI gives MPI_THREAD_MULTIPLE";
  std::vector<float> data(100, 1.0f);
  const Info info{{"cohom_progress", last_rank() ? "thread" : "call"}};
  expect_error_on_all_ranks(
      MPIX_Allreduce_compressed(MPI_IN_PLACE, data.data(), 100, MPI_FLOAT, MPI_SUM, comm_, info),
      comm_, {"progress=thread: MPI gives MPI_THREAD_", "take progress=call"});
  expect_good_call(comm_);
}

TEST_F(MpixErrors, NullPointersOfLocalFunctions) {
  MPIX_Compressed_request request = MPIX_COMPRESSED_REQUEST_NULL;
  int flag = 0;
  float one = 1;
  MPI_Count bytes = 0;
  expect_error(MPIX_Compressed_wait(nullptr), {"request is a null pointer"});
  expect_error(MPIX_Compressed_test(nullptr, &flag), {"request is a null pointer"});
  expect_error(MPIX_Compressed_test(&request, nullptr), {"flag is a null pointer"});
  expect_error(MPIX_Compressed_plan_start(nullptr, &one, &one), {"plan is a null pointer"});
  expect_error(MPIX_Compressed_plan_test(nullptr, &flag), {"plan is a null pointer"});
  expect_error(MPIX_Compressed_plan_wait(nullptr), {"plan is a null pointer"});
  expect_error(MPIX_Compressed_plan_execute(nullptr, &one, &one), {"plan is a null pointer"});
  expect_error(MPIX_Compressed_plan_reset_state(nullptr), {"plan is a null pointer"});
  expect_error(MPIX_Compressed_plan_save_state(nullptr, nullptr, &bytes), {"plan is a null"});
  expect_error(MPIX_Compressed_plan_free(nullptr), {"plan is a null pointer"});
  MPIX_Compressed_plan plan = MPIX_COMPRESSED_PLAN_NULL;
  EXPECT_EQ(MPIX_Compressed_plan_free(&plan), MPI_SUCCESS);  // as with MPI's null handles
  expect_error(MPIX_Compressed_exact_create(1, MPI_FLOAT, nullptr), {"exact is a null pointer"});
  expect_error(MPIX_Compressed_exact_add(nullptr, &one), {"exact is a null pointer"});
  expect_error(MPIX_Compressed_exact_reset(nullptr), {"exact is a null pointer"});
  expect_error(MPIX_Compressed_exact_free(nullptr), {"exact is a null pointer"});
  MPIX_Compressed_exact exact = MPIX_COMPRESSED_EXACT_NULL;
  EXPECT_EQ(MPIX_Compressed_exact_free(&exact), MPI_SUCCESS);
  expect_good_call(comm_);
  expect_error(MPIX_Compressed_save_state(comm_, nullptr, nullptr, &bytes), {"buffer is a null"});
  expect_error(MPIX_Compressed_save_state(comm_, "b", nullptr, nullptr), {"bytes is a null"});
  expect_error(MPIX_Compressed_reset_state(comm_, nullptr), {"buffer is a null"});
}

TEST_F(MpixErrors, DatatypesAndOpsOfTheUser) {
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_FLOAT, &pair);
  MPI_Type_commit(&pair);
  MPI_Op first = MPI_OP_NULL;
  MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &first);
  float data[3] = {1, 1, 1};
  expect_error_on_all_ranks(
      MPIX_Allreduce_compressed(MPI_IN_PLACE, data, 1, pair, MPI_SUM, comm_, MPI_INFO_NULL), comm_,
      {"cannot be compressed", "MPI_FLOAT"});
  expect_error_on_all_ranks(sum_one(comm_, first), comm_, {"your own", "MPI_SUM"});
  MPI_Op_free(&first);
  MPI_Type_free(&pair);
  expect_good_call(comm_);
}

/// What the handler was called with last.
struct Handled {
  int calls = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  int code = MPI_SUCCESS;
};
Handled handled;

void remember(MPI_Comm* comm, int* code, ...) {
  ++handled.calls;
  handled.comm = *comm;
  handled.code = *code;
}

TEST_F(MpixErrors, GoToTheErrorHandlerOfTheCommunicator) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(remember, &handler);
  MPI_Comm_set_errhandler(comm_, handler);
  handled = {};
  EXPECT_EQ(sum_one(comm_), MPI_SUCCESS);
  EXPECT_EQ(handled.calls, 0);
  const int code = sum_one(comm_, MPI_MAX);
  EXPECT_EQ(handled.calls, 1);
  EXPECT_EQ(handled.code, code);
  EXPECT_EQ(handled.comm, comm_);

  MPIX_Compressed_request request = MPIX_COMPRESSED_REQUEST_NULL;
  float one = 1;
  MPIX_Iallreduce_compressed(MPI_IN_PLACE, &one, -1, MPI_FLOAT, MPI_SUM, comm_, MPI_INFO_NULL,
                             &request);
  EXPECT_EQ(handled.calls, 1) << "the error comes out of the request";
  MPIX_Compressed_wait(&request);
  EXPECT_EQ(handled.calls, 2);
  EXPECT_EQ(handled.comm, comm_);
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
}

TEST_F(MpixErrors, HaveOneClassAndACodeForEachKind) {
  const int unsupported = sum_one(comm_, MPI_MAX);
  const int again = sum_one(comm_, MPI_MIN);
  float one = 1;
  const int invalid =
      MPIX_Allreduce_compressed(MPI_IN_PLACE, &one, -1, MPI_FLOAT, MPI_SUM, comm_, MPI_INFO_NULL);
  EXPECT_EQ(unsupported, again);
  EXPECT_NE(unsupported, invalid);
  EXPECT_NE(text_of(unsupported).find("MPI_MIN"), std::string::npos) << "the last error's text";
  int class_of_one = 0, class_of_other = 0;
  MPI_Error_class(unsupported, &class_of_one);
  MPI_Error_class(invalid, &class_of_other);
  EXPECT_EQ(class_of_one, class_of_other);
}

/// The text of the error about a codec that is called so.
std::string text_about_codec(const std::string& name, MPI_Comm comm) {
  const Info info{{"cohom_codec", name}};
  float one = 1;
  return text_of(MPIX_Allreduce_compressed(MPI_IN_PLACE, &one, 1, MPI_FLOAT, MPI_SUM, comm, info));
}

// MPI_MAX_ERROR_STRING is 256 in Open MPI, and 512 in MPICH.
TEST_F(MpixErrors, FitIntoMpisTexts) {
  constexpr std::size_t longest_value = std::min<std::size_t>(MPI_MAX_INFO_VAL - 1, 500);
  constexpr std::size_t longest_text = MPI_MAX_ERROR_STRING - 1;
  const std::size_t around = text_about_codec("xxxx", comm_).size() - 4;
  for (const std::size_t length :
       {longest_value, longest_text - around, longest_text - around + 1}) {
    if (length > longest_value) continue;
    const std::string text = text_about_codec(std::string(length, 'x'), comm_);
    EXPECT_EQ(text.size(), std::min(around + length, longest_text)) << text;
    EXPECT_EQ(text.ends_with("..."), around + length > longest_text) << text;
    EXPECT_NE(text.find("xxxx"), std::string::npos) << text;
    expect_same_on_all_ranks(text.data(), text.size(), comm_);
  }
  expect_good_call(comm_);
}

// Errors and right calls in flight together.
TEST_F(MpixErrors, DoNotTouchOtherCallsInFlight) {
  const Info info{{"cohom_codec", "raw"}};
  std::vector<float> a(5000, 1.0f), b(5000, 2.0f);
  MPIX_Compressed_request good = MPIX_COMPRESSED_REQUEST_NULL, bad = good, last = good;
  MPIX_Iallreduce_compressed(MPI_IN_PLACE, a.data(), 5000, MPI_FLOAT, MPI_SUM, comm_, info, &good);
  MPIX_Iallreduce_compressed(MPI_IN_PLACE, a.data(), 5000, MPI_FLOAT,
                             last_rank() ? MPI_PROD : MPI_SUM, comm_, info, &bad);
  MPIX_Iallreduce_compressed(MPI_IN_PLACE, b.data(), 5000, MPI_FLOAT, MPI_SUM, comm_, info, &last);
  EXPECT_EQ(MPIX_Compressed_wait(&last), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Compressed_wait(&good), MPI_SUCCESS);
  expect_error_on_all_ranks(MPIX_Compressed_wait(&bad), comm_, {"MPI_PROD"});
  EXPECT_EQ(a, std::vector<float>(5000, static_cast<float>(ranks_)));
  EXPECT_EQ(b, std::vector<float>(5000, static_cast<float>(2 * ranks_)));
}

}  // namespace
}  // namespace cohom::testing
