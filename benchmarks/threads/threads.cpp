// cohom-threads: what workers gain: calls of one rank, which are codec work alone, with and without
// them, beside memcpy of the same vector by as many threads.
//
// All are measured in turn, call by call, so that what else the machine does disturbs them alike.
// Times are the wall's, which a busy machine makes longer: `min` and `median` say how much.

#include "base/standard_output.hpp"
#include "base/text.hpp"
#include "base/worker_pool.hpp"
#include "command_line.hpp"
#include "huge_buffer.hpp"
#include "threads/lone_transport.hpp"
#include "time_summary.hpp"

#include <cohom/plan.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace cohom::bench {

namespace {

struct ThreadsOptions {
  std::vector<std::string> codecs = {"thc", "packed", "marsit", "signcount", "exact", "raw"};
  std::vector<std::size_t> sizes = {4u << 20, 16u << 20, 64u << 20};
  std::vector<std::size_t> threads = {0, 1};
  int iterations = 50;
};

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// memcpy by the calling thread and workers, a part each.
class SharedCopy {
 public:
  SharedCopy(std::size_t workers, HugeBuffer& from, HugeBuffer& to, std::size_t bytes) {
    if (workers != 0) pool_ = WorkerPool::shared(workers, {});
    const std::size_t part = bytes / (workers + 1);
    for (std::size_t i = 0; i <= workers; ++i)
      parts_.push_back(std::make_unique<Part>(from.data() + i * part, to.data() + i * part, part));
  }

  void run() {
    for (std::size_t i = 1; i < parts_.size(); ++i) pool_->give(*parts_[i]);
    parts_[0]->copy();
    for (std::size_t i = 1; i < parts_.size(); ++i)
      while (!parts_[i]->is_over()) std::this_thread::yield();
  }

 private:
  class Part final : public WorkerJob {
   public:
    Part(const std::byte* from, std::byte* to, std::size_t bytes)
        : from_(from), to_(to), bytes_(bytes) {}
    void copy() const { std::memcpy(to_, from_, bytes_); }

   private:
    void run() noexcept override { copy(); }

    const std::byte* from_;
    std::byte* to_;
    std::size_t bytes_;
  };

  std::shared_ptr<WorkerPool> pool_;
  std::vector<std::unique_ptr<Part>> parts_;
};

/// Times of all `work`, one call of each in turn.
std::vector<TimeSummary> measure(const std::vector<std::function<void()>>& work, int iterations) {
  std::vector<std::vector<double>> seconds(work.size());
  for (const auto& one : work) one();
  for (int i = 0; i < iterations; ++i)
    for (std::size_t w = 0; w < work.size(); ++w) seconds[w].push_back(seconds_of(work[w]));
  std::vector<TimeSummary> times;
  for (auto& of_one : seconds) times.push_back(summarise(std::move(of_one)));
  return times;
}

void print_row(const std::string& what, std::size_t bytes, std::size_t threads,
               const TimeSummary& time, const TimeSummary& first) {
  fmt::print("{:>6}  {:<12}  {:>7}  {:>9.4f}  {:>9.4f}  {:>6.2f}  {:>8.2f}  {:>7.2f}\n",
             std::to_string(bytes >> 20) + "M", what, threads, 1e3 * time.min, 1e3 * time.median,
             first.min / time.min, first.median / time.median,
             1e-9 * static_cast<double>(bytes) / time.median);
}

void measure_size(const ThreadsOptions& options, std::size_t bytes, Communicator& communicator) {
  HugeBuffer input(bytes), output(bytes);
  const std::size_t count = bytes / sizeof(float);
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    int sum = 0;
    for (int k = 0; k < 4; ++k) sum += static_cast<int>(state >> (16 * k) & 0xffff) - 0x8000;
    const float value = static_cast<float>(sum) * 1e-5f;
    std::memcpy(input.data() + i * sizeof value, &value, sizeof value);
  }
  const auto report = [&](const std::string& what, const std::vector<std::function<void()>>& work) {
    const auto times = measure(work, options.iterations);
    for (std::size_t w = 0; w < times.size(); ++w)
      print_row(what, bytes, options.threads[w], times[w], times[0]);
  };
  std::vector<std::unique_ptr<SharedCopy>> copies;
  std::vector<std::function<void()>> work;
  for (const std::size_t threads : options.threads) {
    copies.push_back(std::make_unique<SharedCopy>(threads, input, output, bytes));
    work.emplace_back([copy = copies.back().get()] { copy->run(); });
  }
  report("memcpy", work);
  for (const std::string& codec : options.codecs) {
    std::vector<std::unique_ptr<AllreducePlan>> plans;
    work.clear();
    for (const std::size_t threads : options.threads) {
      plans.push_back(std::make_unique<AllreducePlan>(
          communicator, count, ElementType::f32,
          Options{.codec = codec, .algorithm = "ring", .threads = std::to_string(threads)}));
      work.emplace_back([plan = plans.back().get(), &input, &output] {
        plan->execute(input.data(), output.data());
      });
    }
    report(codec, work);
  }
}

/// Information: text to print instead.
std::variant<ThreadsOptions, Information> parse_options(int argc, const char* const* argv) {
  ThreadsOptions options;
  std::string sizes, threads;
  CLI::App app(
      "Calls of one rank, which are codec work alone, with different numbers of workers, beside "
      "memcpy\nby as many threads. x min, x median: times as fast as with the first number.",
      "cohom-threads");
  std::vector<std::string> codecs;
  app.add_option("--codec", codecs, "codec spec; may be repeated")->check(some_codec());
  app.add_option("--mebibytes", sizes, "of the vector: comma list (default: 4,16,64)");
  app.add_option("--threads", threads, "workers beside the caller: comma list (default: 0,1)");
  app.add_option("--iterations", options.iterations, "timed calls a row (default: 50)")
      ->check(CLI::Range(1, 1'000'000));
  if (const auto information = parse(app, argc, argv)) return *information;
  if (!codecs.empty()) options.codecs = codecs;
  const auto numbers = [](const char* flag, const std::string& text, std::size_t least,
                          std::size_t most) {
    std::vector<std::size_t> list;
    for (const std::string& item : split_list(flag, text)) {
      const auto number = parse_number<std::size_t>(item);
      if (!number || *number < least || *number > most)
        throw UsageError(
            fmt::format("{} '{}' should be a number from {} to {}", flag, item, least, most));
      list.push_back(*number);
    }
    return list;
  };
  if (!sizes.empty()) {
    options.sizes = numbers("--mebibytes", sizes, 1, 4096);
    for (std::size_t& size : options.sizes) size <<= 20;
  }
  if (!threads.empty()) options.threads = numbers("--threads", threads, 0, WorkerPool::max_workers);
  return options;
}

int run_program(int argc, const char* const* argv) {
  const auto parsed = parse_options(argc, argv);
  if (const auto* const information = std::get_if<Information>(&parsed)) {
    fmt::print("{}", information->text);
    flush_standard_output();
    return 0;
  }
  const auto& options = std::get<ThreadsOptions>(parsed);
  Communicator communicator(lone_transport());
  fmt::print("{:>6}  {:<12}  {:>7}  {:>9}  {:>9}  {:>6}  {:>8}  {:>7}\n", "size", "work", "workers",
             "min ms", "median ms", "x min", "x median", "GB/s");
  for (const std::size_t bytes : options.sizes) measure_size(options, bytes, communicator);
  flush_standard_output();
  return 0;
}

}  // namespace
}  // namespace cohom::bench

int main(int argc, char** argv) {
  try {
    return cohom::bench::run_program(argc, argv);
  } catch (const cohom::bench::UsageError& error) {
    fmt::print(stderr, "cohom-threads: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cohom-threads: {}\n", error.what());
    return 1;
  }
}
