// A program that knows nothing of cohom. Rank 0 prints how many calls that the library can take
// each rank made; a wrong result ends the job.
//
// usage: plain_app TOLERANCE CASE...   (a relative error that sums of real numbers may have)

#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int elements = 100'003;
double tolerance = 0;
int rank = 0, ranks = 1;
int calls = 0;

void expect(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "plain_app: rank %d: %s is wrong\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// Where errors return, the first one is the program's end, on all ranks alike.
void end_with(int status) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  if (rank == 0) std::fprintf(stderr, "plain_app: %s\n", text);
  MPI_Finalize();
  std::exit(3);
}

[[gnu::noinline]] int sum(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm) {
  ++calls;
  const int status = MPI_Allreduce(from, to, count, type, op, comm);
  if (status != MPI_SUCCESS && std::getenv("PLAIN_APP_RETURNS") != nullptr) end_with(status);
  return status;
}

/// Small whole numbers: in any order their sums are exact.
template <class Element>
std::vector<Element> numbers(int of_rank) {
  std::vector<Element> all(elements);
  for (int i = 0; i < elements; ++i)
    all[std::size_t(i)] = static_cast<Element>((i * 31 + of_rank * 17) % 256 - 128);
  return all;
}

template <class Element>
void expect_sums(const std::vector<Element>& got, const std::vector<int>& members) {
  double error = 0, norm = 0;
  std::vector<Element> wanted(elements);
  for (const int member : members) {
    const auto part = numbers<Element>(member);
    for (int i = 0; i < elements; ++i) wanted[std::size_t(i)] += part[std::size_t(i)];
  }
  for (int i = 0; i < elements; ++i) {
    const double off = double(got[std::size_t(i)]) - double(wanted[std::size_t(i)]);
    error += off * off;
    norm += double(wanted[std::size_t(i)]) * double(wanted[std::size_t(i)]);
  }
  expect(std::sqrt(error) <= tolerance * std::sqrt(norm), "a sum");
}

std::vector<int> everybody() {
  std::vector<int> all;
  for (int i = 0; i < ranks; ++i) all.push_back(i);
  return all;
}

template <class Element>
void sum_both_ways(MPI_Datatype type, MPI_Comm comm) {
  const auto input = numbers<Element>(rank);
  std::vector<Element> output(elements);
  sum(input.data(), output.data(), elements, type, MPI_SUM, comm);
  expect_sums(output, everybody());
  output = input;
  sum(MPI_IN_PLACE, output.data(), elements, type, MPI_SUM, comm);
  expect_sums(output, everybody());
}

/// Which no codec makes faster.
void short_vectors() {
  const std::vector<float> input(100, 1.0f);
  std::vector<float> output(input.size());
  for (int call = 0; call < 3; ++call)
    sum(input.data(), output.data(), static_cast<int>(input.size()), MPI_FLOAT, MPI_SUM,
        MPI_COMM_WORLD);
}

void real_numbers() {
  sum_both_ways<float>(MPI_FLOAT, MPI_COMM_WORLD);
  sum_both_ways<double>(MPI_DOUBLE, MPI_COMM_WORLD);
  float one = 1, all = 0;
  sum(&one, &all, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  expect(all == float(ranks), "a sum of one element");
  sum(nullptr, nullptr, 0, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

void add(void* in, void* total, int* count, MPI_Datatype* /*type*/) {
  for (int i = 0; i < *count; ++i) static_cast<float*>(total)[i] += static_cast<float*>(in)[i];
}

void what_stays_native() {
  const double exactly = tolerance;
  tolerance = 0;
  sum_both_ways<int>(MPI_INT, MPI_COMM_WORLD);
  float own = float(rank), most = -1;
  sum(&own, &most, 1, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
  expect(most == float(ranks - 1), "a maximum");
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  const auto input = numbers<float>(rank);
  std::vector<float> output(elements);
  sum(input.data(), output.data(), elements, MPI_FLOAT, op, MPI_COMM_WORLD);
  expect_sums(output, everybody());
  MPI_Datatype copy;  // of a type that the library adds
  MPI_Type_dup(MPI_FLOAT, &copy);
  sum(input.data(), output.data(), elements, copy, op, MPI_COMM_WORLD);
  expect_sums(output, everybody());
  MPI_Type_free(&copy);
  MPI_Op_free(&op);
  sum(input.data(), output.data(), elements, MPI_FLOAT, MPI_SUM, MPI_COMM_SELF);
  expect_sums(output, {rank});
  MPI_Request request;
  MPI_Iallreduce(input.data(), output.data(), elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                 &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect_sums(output, everybody());
  const std::vector<float> ones(std::size_t(ranks), 1);
  ++calls;
  MPI_Reduce_scatter_block(ones.data(), output.data(), 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  expect(output[0] == float(ranks), "a part of a sum");
  tolerance = exactly;
}

/// Of vectors with `elements` for each rank, each gets a part of the sum.
void parts_of_sums() {
  const auto part = numbers<float>(rank);
  std::vector<float> input, output(elements);
  for (int i = 0; i < ranks; ++i) input.insert(input.end(), part.begin(), part.end());
  calls += 2;
  MPI_Reduce_scatter_block(input.data(), output.data(), elements, MPI_FLOAT, MPI_SUM,
                           MPI_COMM_WORLD);
  expect_sums(output, everybody());
  MPI_Reduce_scatter_block(MPI_IN_PLACE, input.data(), elements, MPI_FLOAT, MPI_SUM,
                           MPI_COMM_WORLD);
  input.resize(elements);
  expect_sums(input, everybody());
}

void communicators() {
  for (int i = 0; i < 20; ++i) {
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (i % 4 == 0) sum_both_ways<float>(MPI_FLOAT, copy);
    MPI_Comm_free(&copy);
  }
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
  std::vector<int> members;
  for (int i = rank % 2; i < ranks; i += 2) members.push_back(i);
  const auto input = numbers<float>(rank);
  std::vector<float> output(elements);
  sum(input.data(), output.data(), elements, MPI_FLOAT, MPI_SUM, half);
  expect_sums(output, members);
  if (ranks > 1) {
    MPI_Comm between;
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &between);
    sum(input.data(), output.data(), elements, MPI_FLOAT, MPI_SUM, between);
    members.clear();
    for (int i = 1 - rank % 2; i < ranks; i += 2) members.push_back(i);
    const double exactly = tolerance;
    tolerance = 0;
    expect_sums(output, members);
    tolerance = exactly;
    MPI_Comm_free(&between);
  }
  MPI_Comm_free(&half);
}

/// Its copies have none of them.
void keys() {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cohom_codec", "exact");
  MPI_Comm with_keys, with_info, copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &with_keys);
  sum_both_ways<float>(MPI_FLOAT, with_keys);
  MPI_Comm_set_info(with_keys, info);
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &with_info);
  MPI_Comm_dup(with_keys, &copy);
  MPI_Info_free(&info);
  sum_both_ways<float>(MPI_FLOAT, with_keys);
  sum_both_ways<float>(MPI_FLOAT, with_info);
  sum_both_ways<float>(MPI_FLOAT, copy);
  for (MPI_Comm* const comm : {&with_keys, &with_info, &copy}) MPI_Comm_free(comm);
}

/// Each thread has a communicator of its own.
void threads() {
  MPI_Comm comms[2];
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<std::thread> all;
  for (const MPI_Comm comm : comms)
    all.emplace_back([comm] {
      const auto input = numbers<float>(rank);
      std::vector<float> output(elements);
      for (int i = 0; i < 5; ++i)
        MPI_Allreduce(input.data(), output.data(), elements, MPI_FLOAT, MPI_SUM, comm);
      expect_sums(output, everybody());
    });
  for (std::thread& thread : all) thread.join();
  calls += 10;
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

/// MPI refuses them, and the program goes on.
void wrong_arguments() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  float one = 1, other = 0;
  expect(sum(&one, &other, -1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS, "a count");
  expect(sum(&one, MPI_IN_PLACE, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS,
         "MPI_IN_PLACE as the receive buffer");
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);  // which MPI 4 takes for no other
  expect(sum(&one, &other, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_NULL) != MPI_SUCCESS, "no communicator");
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  sum(&one, &other, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  expect(other == float(ranks), "a sum behind errors");
}

/// Rank 0 alone has keys.
void different_keys() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  sum_both_ways<float>(MPI_FLOAT, comm);
  MPI_Info info;
  MPI_Info_create(&info);
  if (rank == 0) MPI_Info_set(info, "cohom_codec", "exact");
  MPI_Comm_set_info(comm, info);
  sum_both_ways<float>(MPI_FLOAT, comm);
}

/// Keys of others come behind those of cohom, which they leave as they are.
void set_keys_of_others(MPI_Comm comm) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "somebody_elses", "1");
  MPI_Comm_set_info(comm, info);
  MPI_Info_free(&info);
}

void keys_of_others_last() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cohom_codec", "exact");
  MPI_Comm_set_info(comm, info);
  set_keys_of_others(comm);
  sum_both_ways<float>(MPI_FLOAT, comm);
}

/// Each rank has another codec.
void different_keys_first() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cohom_codec", rank == 0 ? "exact" : "raw");
  MPI_Comm_set_info(comm, info);
  set_keys_of_others(comm);
  sum_both_ways<float>(MPI_FLOAT, comm);
}

/// A sum that is no mean, whatever a key says, and however often it is asked for.
void refused_keys() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cohom_codec", "raw");
  MPI_Info_set(info, "cohom_op", "mean");
  MPI_Comm_set_info(comm, info);
  float one = 1, all = 0;
  for (int call = 0; call < 3; ++call) {
    expect(MPI_Allreduce(&one, &all, 1, MPI_FLOAT, MPI_SUM, comm) != MPI_SUCCESS,
           "a call with a key that is refused");
    set_keys_of_others(comm);
  }
  MPI_Info_delete(info, "cohom_codec");
  MPI_Info_set(info, "cohom_op", "sum");
  MPI_Comm_set_info(comm, info);
  sum(&one, &all, 1, MPI_FLOAT, MPI_SUM, comm);
  expect(all == float(ranks), "a sum behind keys that were refused");
}

/// Rank 0 has another vector than the others.
void different_counts() {
  const auto input = numbers<float>(rank);
  std::vector<float> output(elements);
  sum(input.data(), output.data(), rank == 0 ? elements : elements - 1, MPI_FLOAT, MPI_SUM,
      MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void()>> cases = {
      {"real", real_numbers},
      {"short", short_vectors},
      {"native", what_stays_native},
      {"parts", parts_of_sums},
      {"communicators", communicators},
      {"keys", keys},
      {"threads", threads},
      {"counts", different_counts},
      {"different keys", different_keys},
      {"different keys first", different_keys_first},
      {"keys of others last", keys_of_others_last},
      {"refused keys", refused_keys},
      {"wrong", wrong_arguments},
  };
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (std::getenv("PLAIN_APP_RETURNS") != nullptr)
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  tolerance = std::atof(argv[1]);
  for (int i = 2; i < argc; ++i) cases.at(argv[i])();
  if (rank == 0) std::printf("calls %d\n", calls);
  MPI_Finalize();
}
