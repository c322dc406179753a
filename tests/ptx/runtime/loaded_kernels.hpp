#pragma once
// The kernels that libraries of the process have registered.

#include "ptx/module.hpp"

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace cohom::ptx {

class LoadedKernels {
 public:
  static LoadedKernels& instance();

  /// Writes the report when the process ends, if the settings ask for one.
  Module& add_module(std::string ptx, unsigned architecture);
  void add_kernel(const void* host_function, Module& module, const std::string& name);
  /// Null for a function that is no kernel. @throws Fault for one that cannot be read
  Kernel* find(const void* host_function);
  [[nodiscard]] bool contains(const void* host_function) const {
    return kernels_.contains(host_function);
  }
  /// Of the PTX: 80 of compute_80.
  [[nodiscard]] unsigned architecture() const { return architecture_; }

 private:
  struct Registered {
    Module* module;
    std::string name;
  };

  void write_report_file() const;

  std::vector<std::unique_ptr<Module>> modules_;
  std::unordered_map<const void*, Registered> kernels_;
  unsigned architecture_ = 0;
};

}  // namespace cohom::ptx
