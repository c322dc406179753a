#pragma once
// Module: the PTX of one source file of kernels.

#include "kernel.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace cohom::ptx {

class Module {
 public:
  struct SharedVariable {
    std::size_t bytes, alignment;
  };

  /// Places its global variables in the device's memory. @throws Fault for what it cannot read
  explicit Module(std::string text);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Decoded at the first use. What is not supported is a complaint of the kernel's, and a fault
  /// where it is run. @throws Fault for a kernel that is not there or cannot be read
  Kernel& kernel(const std::string& name);

  [[nodiscard]] const std::map<std::string, std::unique_ptr<Kernel>>& decoded() const {
    return kernels_;
  }
  /// Device address of a global variable, or null.
  [[nodiscard]] const std::uint64_t* global(const std::string& name) const;
  /// A variable of shared memory outside of kernels, or null.
  [[nodiscard]] const SharedVariable* shared(const std::string& name) const;
  /// Of a source, as the compiler knew it.
  [[nodiscard]] std::string file_name(std::uint32_t number) const;

 private:
  struct Extent {
    std::size_t begin, end;
  };

  /// Finds the kernels; returns what stands outside of them.
  std::string find_entries();
  void declare(const std::string& text);
  void name_file(const std::string& text);

  std::string text_;
  std::map<std::string, Extent> entries_;
  std::map<std::string, std::uint64_t> globals_;
  std::map<std::string, SharedVariable> shared_;
  std::map<std::uint32_t, std::string> files_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
};

}  // namespace cohom::ptx
