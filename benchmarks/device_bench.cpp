// device_bench: how fast a device encodes, merges and decodes, beside its own copies.
//
// ms are those of a vector of 1 GiB of f32. A row's floor is the time in which the device copies as
// many bytes as the row must read and write at least: all kernels here would be bound by memory if
// instructions were free.

#include "base/standard_output.hpp"
#include "device_rows.hpp"
#include "kernels/device_runtime/device_context.hpp"
#include "memory/device_loader.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace cohom::bench {
namespace {

struct Settings {
  std::size_t mebibytes = 1024;
  int repeats = 21;
  bool json = false;
};

/// Median of the milliseconds that a call takes until its stream is done.
double milliseconds(kernels::DeviceContext& context, const DeviceRow& row, int repeats) {
  std::vector<double> times;
  row.run();
  context.synchronise();
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    row.run();
    context.synchronise();
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::ranges::nth_element(times, times.begin() + repeats / 2);
  return times[std::size_t(repeats) / 2];
}

void run(const Settings& settings, const kernels::DeviceLibrary& library) {
  kernels::DeviceContext context(library, nullptr);
  const kernels::DeviceScope scope(context);
  const DeviceRows rows(context, settings.mebibytes << 20);
  const std::string name = context.runtime().device_name(context.runtime().current_device());
  nlohmann::json document{{"device", name}, {"mebibytes", settings.mebibytes}};
  double copy = 0;  // bytes a millisecond
  if (!settings.json)
    fmt::print("{}, {} MiB of f32, median of {}\n{:30} {:>10} {:>10} {:>8}\n", name,
               settings.mebibytes, settings.repeats, "", "ms a GiB", "floor", "share");
  for (const DeviceRow& row : rows.all()) {
    const double ms = milliseconds(context, row, settings.repeats);
    if (copy == 0) copy = row.bytes / ms;  // the first one
    const double scale = 1024.0 / static_cast<double>(settings.mebibytes);
    const double floor = row.bytes / copy;
    document["rows"].push_back({{"kernel", row.name},
                                {"ms_per_gib", ms * scale},
                                {"floor_ms_per_gib", floor * scale},
                                {"share_of_copy", floor / ms}});
    if (!settings.json)
      fmt::print("{:30} {:10.3f} {:10.3f} {:8.2f}\n", row.name, ms * scale, floor * scale,
                 floor / ms);
  }
  document["copy_bytes_per_second"] = copy * 1000;
  if (settings.json)
    fmt::print("{}\n", document.dump(2));
  else
    fmt::print("copies: {:.0f} GB/s, bytes read and written\n", copy / 1e6);
}

}  // namespace
}  // namespace cohom::bench

int main(int argc, char** argv) {
  using namespace cohom;
  bench::Settings settings;
  CLI::App app("How fast a device encodes, merges and decodes, beside its own copies.");
  app.add_option("--mebibytes", settings.mebibytes, "Size of the vector")
      ->check(CLI::Range(1, 16384))
      ->capture_default_str();
  app.add_option("--repeats", settings.repeats, "Calls that are timed")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--json", settings.json, "One JSON document instead of a table");
  CLI11_PARSE(app, argc, argv);
  try {
    const kernels::DeviceLibrary* const library = device_library();
    if (library == nullptr) {
      const bool named = std::getenv("COHOM_CUDA_LIBRARY") != nullptr;
      fmt::print(named ? stderr : stdout, "device_bench: {}{}\n",
                 named ? "" : "skipped: ", why_no_device());
      return named ? 1 : 77;
    }
    bench::run(settings, *library);
    flush_standard_output();
  } catch (const std::exception& error) {
    fmt::print(stderr, "device_bench: {}\n", error.what());
    return 1;
  }
  return 0;
}
