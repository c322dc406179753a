#pragma once
// Small kernels as text, run over a piece of device memory.

#include "ptx/device_memory.hpp"
#include "ptx/launch.hpp"
#include "ptx/module.hpp"

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace cohom::ptx {

/// A piece of device memory that holds these values.
class DevicePiece {
 public:
  explicit DevicePiece(std::size_t bytes) : place_(DeviceMemory::instance().allocate(bytes)) {}
  explicit DevicePiece(std::span<const std::uint64_t> values) : DevicePiece(values.size_bytes()) {
    DeviceMemory& memory = DeviceMemory::instance();
    std::memcpy(view(), values.data(), values.size_bytes());
    std::memset(memory.state(memory.offset(place_)),
                DeviceMemory::allocated | DeviceMemory::written, values.size_bytes());
  }
  ~DevicePiece() { DeviceMemory::instance().free(place_); }
  DevicePiece(const DevicePiece&) = delete;
  DevicePiece& operator=(const DevicePiece&) = delete;

  [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(place_); }
  [[nodiscard]] std::uint8_t* view() const {
    DeviceMemory& memory = DeviceMemory::instance();
    return memory.view(memory.offset(place_));
  }
  template <class T>
  [[nodiscard]] T read(std::size_t index) const {
    T value;
    std::memcpy(&value, view() + index * sizeof(T), sizeof(T));
    return value;
  }

 private:
  void* place_;
};

/// A kernel of one parameter, an address, which its body finds in %rd1. Registers: %p, %h (16
/// bits), %r, %rd, %f and %d, 16 of each; 256 bytes of shared memory named `shared`.
class SmallKernel {
 public:
  explicit SmallKernel(const std::string& body)
      : module_(
            ".version 9.0\n.target sm_80\n.address_size 64\n"
            ".visible .entry small(\n.param .u64 small_param_0\n)\n.maxntid 256\n{\n"
            ".reg .pred %p<16>;\n.reg .b16 %h<16>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n"
            ".reg .f32 %f<16>;\n.reg .f64 %d<16>;\n.shared .align 16 .b8 shared[256];\n"
            "ld.param.u64 %rd1, [small_param_0];\n" +
            body + "\nret;\n}\n") {}

  Kernel& kernel() { return module_.kernel("small"); }

  /// @return complaints
  std::uint64_t run(LaunchShape shape, std::uint64_t address) {
    std::vector<std::uint8_t> parameters(sizeof address);
    std::memcpy(parameters.data(), &address, sizeof address);
    launch(kernel(), shape, parameters);
    return complaints();
  }
  std::uint64_t complaints() {
    std::uint64_t all = 0;
    for (const auto& [what, times] : kernel().complaints) all += times;
    return all;
  }
  /// Whether one of the complaints has the words.
  bool complained(const std::string& words) {
    for (const auto& [what, times] : kernel().complaints)
      if (what.find(words) != std::string::npos) return true;
    return false;
  }

 private:
  Module module_;
};

}  // namespace cohom::ptx
