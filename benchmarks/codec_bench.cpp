// codec_bench: how fast one core encodes, merges and decodes, beside memcpy of the same vector.
//
// bytes_per_second counts bytes of the user's vector, whatever is stored or read besides; x_memcpy
// is that speed over the speed of memcpy of as many bytes, measured just before. Both in processor
// time of the thread, because the machine may be shared. COHOM_ISA picks the instruction set.

#include "base/float_mode.hpp"
#include "base/standard_output.hpp"
#include "codec_workloads.hpp"
#include "huge_buffer.hpp"
#include "kernels/core/body/element.hpp"
#include "kernels/core/isa.hpp"
#include "output_file.hpp"

#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cfenv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

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

/// What every start and every look at the network pays so that the caller's floating-point mode
/// does not matter.
void float_mode(benchmark::State& state, int callers_rounding) {
  std::fesetround(callers_rounding);
  for (auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores): how the library counts
    const DefaultFloatMode mode;
    benchmark::ClobberMemory();
  }
  std::fesetround(FE_TONEAREST);
}

Workloads memory_workloads() {
  return {{"memcpy",
           [](std::size_t bytes) {
             auto source = std::make_shared<HugeBuffer>(bytes);
             auto target = std::make_shared<HugeBuffer>(bytes);
             return [=] { std::memcpy(target->data(), source->data(), bytes); };
           }},
          // What checksum=on does at either end of a message.
          {"xxh3",
           [](std::size_t bytes) {
             auto source = std::make_shared<HugeBuffer>(bytes);
             return [=] { benchmark::DoNotOptimize(XXH3_64bits(source->data(), bytes)); };
           }},
          {"read", [](std::size_t bytes) {
             auto source = std::make_shared<HugeBuffer>(bytes);
             return [=] { benchmark::DoNotOptimize(any_bits(source->words(), bytes / 8)); };
           }}};
}

/// What --benchmark_out names. Google Benchmark does not look whether its file could be written, so
/// it writes to memory, and this to the file.
class BenchmarkOut {
 public:
  /// Changes the flag among `arguments`, which get a new one at most.
  explicit BenchmarkOut(std::vector<std::string>& arguments) {
    const std::string flag = "--benchmark_out=";
    if (const char* path = std::getenv("BENCHMARK_OUT"))  // that library's variable
      arguments.insert(arguments.begin() + 1, flag + path);
    for (std::string& argument : arguments) {
      if (!argument.starts_with(flag)) continue;
      if (file_) throw std::runtime_error("--benchmark_out should be given once");
      file_.emplace("--benchmark_out", argument.substr(flag.size()));
      memory_ = ::memfd_create("benchmark_out", MFD_CLOEXEC);
      if (memory_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
      argument = flag + "/proc/self/fd/" + std::to_string(memory_);
    }
  }

  /// When all is measured.
  void close() {
    if (!file_) return;
    std::string content(static_cast<std::size_t>(::lseek(memory_, 0, SEEK_END)), '\0');
    if (::pread(memory_, content.data(), content.size(), 0) != std::ssize(content))
      throw std::system_error(errno, std::generic_category(), "reading the results back");
    file_->write(std::move(content));
    file_->close();
  }

 private:
  std::optional<OutputFile> file_;
  int memory_ = -1;
};

int run(int argc, char** argv) {
  std::vector<std::string> arguments(argv, argv + argc);
  BenchmarkOut out(arguments);
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  int count = static_cast<int>(words.size());
  words.push_back(nullptr);
  benchmark::Initialize(&count, words.data());
  if (benchmark::ReportUnrecognizedArguments(count, words.data())) return 2;
  benchmark::AddCustomContext("isa", std::string(name_of(kernels::active_isa())));
  benchmark::RegisterBenchmark("float_mode/default", float_mode, FE_TONEAREST);
  benchmark::RegisterBenchmark("float_mode/upwards", float_mode, FE_UPWARD);
  for (const auto& workloads :
       {memory_workloads(), exact_workloads(), merge_workloads(), packed_workloads(),
        sign_workloads(), sketch_workloads(), sparse_workloads(), thc_workloads()})
    register_all(workloads);
  benchmark::RunSpecifiedBenchmarks();
  out.close();
  flush_standard_output();
  return 0;
}

}  // namespace
}  // namespace cohom::bench

int main(int argc, char** argv) {
  try {
    return cohom::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "codec_bench: %s\n", error.what());
    return 2;
  }
}
