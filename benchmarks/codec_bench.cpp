// codec_bench: how fast one core encodes, merges and decodes, beside memcpy of the same vector.
//
// bytes_per_second counts bytes of the user's vector, whatever is stored or read besides; x_memcpy
// is that speed over the speed of memcpy of as many bytes, measured just before. Both in processor
// time of the thread, because the machine may be shared. COHOM_ISA picks the instruction set.

#include "codec_workloads.hpp"
#include "huge_buffer.hpp"
#include "kernels/body/element.hpp"
#include "kernels/isa.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <ranges>

namespace cohom::bench {

std::shared_ptr<HugeBuffer> random_vector(ElementType type, std::size_t bytes) {
  auto vector = std::make_shared<HugeBuffer>(bytes);
  kernels::body::with_element_type(type, [&]<class T>(T) {
    std::uint64_t state = 1;
    for (std::size_t i = 0; i < bytes / sizeof(T); ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      int sum = 0;
      for (int k = 0; k < 4; ++k) sum += static_cast<int>(state >> (16 * k) & 0xffff) - 0x8000;
      const float scale = i / 256 % 8 == 0 ? 1e-5f : 2e-5f;
      kernels::body::store_element<T>(vector->data(), i, static_cast<float>(sum) * scale);
    }
  });
  return vector;
}

namespace {

constexpr std::size_t vector_sizes[] = {256u << 10, 4u << 20, 256u << 20};

double thread_seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Bytes a second: the median of several measurements of about a millisecond or more.
double memcpy_speed(std::size_t bytes) {
  static HugeBuffer source(std::ranges::max(vector_sizes));
  static HugeBuffer target(source.size());
  const std::size_t repeats = std::max<std::size_t>(1, (32u << 20) / bytes);
  double seconds[9];
  for (double& measured : seconds) {
    const double start = thread_seconds();
    for (std::size_t r = 0; r < repeats; ++r) {
      std::memcpy(target.data(), source.data(), bytes);
      benchmark::ClobberMemory();
    }
    measured = thread_seconds() - start;
  }
  std::ranges::sort(seconds);
  return static_cast<double>(bytes * repeats) / seconds[std::size(seconds) / 2];
}

/// What reading alone takes, four chains of it as a compiler vectorises them.
std::uint64_t any_bits(const std::uint64_t* words, std::size_t count) {
  std::uint64_t any[32] = {};
  for (std::size_t i = 0; i + 32 <= count; i += 32)
    for (std::size_t k = 0; k < 32; ++k) any[k] |= words[i + k];
  return *std::ranges::max_element(any);
}

void measure(benchmark::State& state, const Workload& workload, std::size_t bytes) {
  const auto run = workload.prepare(bytes);
  run();
  const double reference = memcpy_speed(bytes);
  for (auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores): how the library counts
    run();
    benchmark::ClobberMemory();
  }
  const auto total = state.iterations() * static_cast<std::int64_t>(bytes * workload.vectors);
  state.SetBytesProcessed(total);
  if (workload.item_bytes != 0)
    state.SetItemsProcessed(total / static_cast<std::int64_t>(workload.item_bytes));
  state.counters["x_memcpy"] =
      benchmark::Counter(static_cast<double>(total) / reference, benchmark::Counter::kIsRate);
}

void register_all(const Workloads& workloads) {
  for (const Workload& workload : workloads)
    for (const std::size_t bytes : vector_sizes) {
      const std::string name = workload.name + "/" + std::to_string(bytes >> 10) + "K";
      benchmark::RegisterBenchmark(
          name.c_str(), [=](benchmark::State& state) { measure(state, workload, bytes); });
    }
}

Workloads memory_workloads() {
  return {{"memcpy",
           [](std::size_t bytes) {
             auto source = std::make_shared<HugeBuffer>(bytes);
             auto target = std::make_shared<HugeBuffer>(bytes);
             return [=] { std::memcpy(target->data(), source->data(), bytes); };
           }},
          {"read", [](std::size_t bytes) {
             auto source = std::make_shared<HugeBuffer>(bytes);
             return [=] { benchmark::DoNotOptimize(any_bits(source->words(), bytes / 8)); };
           }}};
}

}  // namespace
}  // namespace cohom::bench

int main(int argc, char** argv) {
  using namespace cohom;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  try {
    benchmark::AddCustomContext("isa", std::string(name_of(kernels::active_isa())));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "codec_bench: %s\n", error.what());
    return 2;
  }
  for (const auto& workloads :
       {bench::memory_workloads(), bench::merge_workloads(), bench::packed_workloads(),
        bench::sign_workloads(), bench::sketch_workloads(), bench::sparse_workloads(),
        bench::thc_workloads()})
    bench::register_all(workloads);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
