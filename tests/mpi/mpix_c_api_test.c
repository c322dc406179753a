/* The C API from plain C: it compiles, works, and says so before MPI_Init and after MPI_Finalize.
 */

#include <cohom/mpix.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { count = 5000 };

static int failures = 0;

static void expect(int truth, const char* what) {
  if (truth) return;
  ++failures;
  printf("FAILED: %s\n", what);
}

static int sum_in_place(float* data, MPI_Comm comm, MPI_Info info) {
  return MPIX_Allreduce_compressed(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, comm, info);
}

static int all_equal(const float* data, float value) {
  int i;
  for (i = 0; i < count; ++i)
    if (data[i] != value) return 0;
  return 1;
}

static void fill(float* data, float value) {
  int i;
  for (i = 0; i < count; ++i) data[i] = value;
}

static void test_without_mpi(const char* when) {
  float data[count] = {0};
  MPIX_Compressed_request request = MPIX_COMPRESSED_REQUEST_NULL;
  MPIX_Compressed_plan plan = MPIX_COMPRESSED_PLAN_NULL;
  MPIX_Compressed_exact exact = MPIX_COMPRESSED_EXACT_NULL;
  printf("Six lines of errors are right %s:\n", when);
  fflush(stdout);
  expect(sum_in_place(data, MPI_COMM_WORLD, MPI_INFO_NULL) == MPI_ERR_OTHER, when);
  expect(MPIX_Iallreduce_compressed(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                                    MPI_INFO_NULL, &request) == MPI_ERR_OTHER,
         when);
  expect(MPIX_Compressed_plan_create(count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                                     &plan) == MPI_ERR_OTHER,
         when);
  expect(MPIX_Compressed_reset_state(MPI_COMM_WORLD, "buffer") == MPI_ERR_OTHER, when);
  expect(MPIX_Compressed_wait(NULL) == MPI_ERR_OTHER, when);
  expect(MPIX_Compressed_exact_create(count, MPI_FLOAT, &exact) == MPI_ERR_OTHER, when);
  expect(request == MPIX_COMPRESSED_REQUEST_NULL && plan == MPIX_COMPRESSED_PLAN_NULL, when);
  expect(exact == MPIX_COMPRESSED_EXACT_NULL, when);
  expect(MPIX_Float16() == MPI_DATATYPE_NULL, when);
}

static void test_calls(MPI_Comm comm, int ranks, MPI_Info info) {
  float data[count];
  MPIX_Compressed_request request;
  int done = 0;
  fill(data, 2.0f);
  expect(sum_in_place(data, comm, info) == MPI_SUCCESS, "blocking call");
  expect(all_equal(data, 2.0f * (float)ranks), "sum of the blocking call");

  fill(data, 3.0f);
  expect(MPIX_Iallreduce_compressed(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, comm, info,
                                    &request) == MPI_SUCCESS,
         "start");
  while (!done) expect(MPIX_Compressed_test(&request, &done) == MPI_SUCCESS, "test");
  expect(all_equal(data, 3.0f * (float)ranks), "sum of the request");
}

static void test_plan(MPI_Comm comm, int ranks, MPI_Info info) {
  float data[count];
  MPIX_Compressed_plan plan;
  int step;
  expect(MPIX_Compressed_plan_create(count, MPI_FLOAT, MPI_SUM, comm, info, &plan) == MPI_SUCCESS,
         "plan");
  for (step = 1; step <= 3; ++step) {
    fill(data, (float)step);
    expect(MPIX_Compressed_plan_start(plan, MPI_IN_PLACE, data) == MPI_SUCCESS,
           "start of the plan");
    expect(MPIX_Compressed_plan_wait(plan) == MPI_SUCCESS, "wait for the plan");
    expect(all_equal(data, (float)(step * ranks)), "sum of the plan");
  }
  expect(MPIX_Compressed_plan_free(&plan) == MPI_SUCCESS, "end of the plan");
  expect(plan == MPIX_COMPRESSED_PLAN_NULL, "handle of the plan");
}

static void test_exact(MPI_Comm comm, int rank, int ranks) {
  float data[count];
  MPIX_Compressed_exact exact;
  int vector;
  expect(MPIX_Compressed_exact_create(count, MPI_FLOAT, &exact) == MPI_SUCCESS, "exact sum");
  for (vector = 0; vector < rank; ++vector) { /* all but 1 cancels */
    fill(data, 1e8f);
    expect(MPIX_Compressed_exact_add(exact, data) == MPI_SUCCESS, "add");
    fill(data, 1.0f);
    expect(MPIX_Compressed_exact_add(exact, data) == MPI_SUCCESS, "add");
    fill(data, -1e8f);
    expect(MPIX_Compressed_exact_add(exact, data) == MPI_SUCCESS, "add");
  }
  expect(MPIX_Compressed_exact_allreduce(exact, data, MPI_SUM, comm, MPI_INFO_NULL) == MPI_SUCCESS,
         "exact allreduce");
  expect(all_equal(data, (float)(ranks * (ranks - 1) / 2)), "exact sum of all");
  expect(MPIX_Compressed_exact_reset(exact) == MPI_SUCCESS, "reset");
  expect(MPIX_Compressed_exact_allreduce(exact, data, MPI_SUM, comm, MPI_INFO_NULL) == MPI_SUCCESS,
         "exact allreduce of nothing");
  expect(all_equal(data, 0.0f), "exact sum of nothing");
  expect(MPIX_Compressed_exact_free(&exact) == MPI_SUCCESS, "end of the exact sum");
  expect(exact == MPIX_COMPRESSED_EXACT_NULL, "handle of the exact sum");
}

static void test_error(MPI_Comm comm, MPI_Info info) {
  float data[count];
  int code, error_class;
  fill(data, 1.0f);
  code = MPIX_Allreduce_compressed(MPI_IN_PLACE, data, count, MPI_INT, MPI_SUM, comm, info);
  expect(code != MPI_SUCCESS, "MPI_INT is no error");
  expect(MPI_Error_class(code, &error_class) == MPI_SUCCESS && error_class > MPI_ERR_LASTCODE,
         "class of the error");
}

int main(int argc, char** argv) {
  int rank, ranks, all = 0;
  MPI_Info info;
  test_without_mpi("before MPI_Init");
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Info_create(&info);
  MPI_Info_set(info, "cohom_codec", "raw");
  test_calls(MPI_COMM_WORLD, ranks, info);
  test_error(MPI_COMM_WORLD, info);
  test_plan(MPI_COMM_WORLD, ranks, info);
  test_exact(MPI_COMM_WORLD, rank, ranks);
  MPI_Info_free(&info);
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  test_without_mpi("after MPI_Finalize");
  if (rank == 0 && all == 0 && failures == 0) printf("C API: passed on %d ranks\n", ranks);
  return all == 0 && failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
