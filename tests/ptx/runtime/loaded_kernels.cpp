#include "loaded_kernels.hpp"

#include "ptx/report.hpp"
#include "ptx/settings.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace cohom::ptx {

LoadedKernels& LoadedKernels::instance() {
  static LoadedKernels& loaded = *[] {
    std::atexit([] { instance().write_report_file(); });
    return new LoadedKernels();  // outlives everything that launches
  }();
  return loaded;
}

Module& LoadedKernels::add_module(std::string ptx, unsigned architecture) {
  architecture_ = architecture;
  return *modules_.emplace_back(std::make_unique<Module>(std::move(ptx)));
}

void LoadedKernels::add_kernel(const void* host_function, Module& module, const std::string& name) {
  kernels_[host_function] = {&module, name};
}

Kernel* LoadedKernels::find(const void* host_function) {
  const auto found = kernels_.find(host_function);
  return found == kernels_.end() ? nullptr : &found->second.module->kernel(found->second.name);
}

void LoadedKernels::write_report_file() const {
  const std::string& path = Settings::instance().report;
  if (path.empty()) return;
  std::vector<std::string> registered;
  for (const auto& [host_function, kernel] : kernels_) registered.push_back(kernel.name);
  std::vector<const Kernel*> decoded;
  for (const auto& module : modules_)
    for (const auto& [name, kernel] : module->decoded())
      if (kernel) decoded.push_back(kernel.get());
  std::ofstream out(path, std::ios::app);
  write_report(out, registered, decoded);
  if (!out.flush()) std::fprintf(stderr, "PTX: cannot write the report %s\n", path.c_str());
}

}  // namespace cohom::ptx
