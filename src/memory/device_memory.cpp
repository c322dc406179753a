#include "memory/device_memory.hpp"

#include <cstring>

namespace cohom {

namespace {

/// Shorter copies to the host go through the context's pinned memory.
constexpr std::size_t short_copy = std::size_t{256} << 10;

class DeviceMemory final : public Memory {
 public:
  explicit DeviceMemory(kernels::DeviceContext& context) : context_(context) {}

  [[nodiscard]] MemorySpace space() const override { return MemorySpace::cuda; }
  [[nodiscard]] std::byte* allocate(std::size_t bytes) override {
    auto* const memory = static_cast<std::byte*>(runtime().allocate(bytes));
    try {
      zero(memory, bytes);
    } catch (...) {
      runtime().free(memory);
      throw;
    }
    return memory;
  }
  /// Waits for what was put into the stream: a plan that cannot be made gives back memory that is
  /// still being filled.
  void free(std::byte* memory, std::size_t) noexcept override {
    try {
      context_.synchronise();
    } catch (const Error&) {  // sticky: whoever used the stream was told
    }
    runtime().free(memory);
  }

  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes != 0) runtime().copy_within(to, from, bytes, context_.stream());
  }
  void zero(void* to, std::size_t bytes) override {
    if (bytes != 0) runtime().fill(to, 0, bytes, context_.stream());
  }
  void to_host(void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    if (bytes <= short_copy) return context_.download(to, from, bytes);
    runtime().copy_to_host(to, from, bytes, context_.stream());
    context_.synchronise();
  }
  /// Put together on the device, because each copy over the bus takes as long as a long one to
  /// start.
  void gather_to_host(void* to, std::span<const void* const> from, std::size_t bytes) override {
    context_.begin_call();
    auto* const together = static_cast<std::byte*>(context_.scratch(from.size() * bytes));
    for (std::size_t i = 0; i < from.size(); ++i) copy(together + i * bytes, from[i], bytes);
    to_host(to, together, from.size() * bytes);
  }
  void from_host(void* to, const void* from, std::size_t bytes) override {
    if (bytes != 0) runtime().copy_to_device(to, from, bytes, context_.stream());
  }

 private:
  [[nodiscard]] kernels::DeviceRuntime& runtime() const { return context_.runtime(); }

  kernels::DeviceContext& context_;
};

class PinnedMemory final : public Memory {
 public:
  explicit PinnedMemory(kernels::DeviceRuntime& runtime) : runtime_(runtime) {}

  [[nodiscard]] MemorySpace space() const override { return MemorySpace::pinned; }
  [[nodiscard]] std::byte* allocate(std::size_t bytes) override {
    void* const memory = runtime_.allocate_pinned(bytes);
    std::memset(memory, 0, bytes);
    return static_cast<std::byte*>(memory);
  }
  void free(std::byte* memory, std::size_t) noexcept override { runtime_.free_pinned(memory); }

  void copy(void* to, const void* from, std::size_t bytes) override {
    host_memory().copy(to, from, bytes);
  }
  void zero(void* to, std::size_t bytes) override { host_memory().zero(to, bytes); }
  void to_host(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void gather_to_host(void* to, std::span<const void* const> from, std::size_t bytes) override {
    for (std::size_t i = 0; i < from.size(); ++i)
      to_host(static_cast<std::byte*>(to) + i * bytes, from[i], bytes);
  }
  void from_host(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }

 private:
  kernels::DeviceRuntime& runtime_;
};

}  // namespace

std::unique_ptr<Memory> make_device_memory(kernels::DeviceContext& context) {
  return std::make_unique<DeviceMemory>(context);
}

std::unique_ptr<Memory> make_pinned_memory(kernels::DeviceRuntime& runtime) {
  return std::make_unique<PinnedMemory>(runtime);
}

}  // namespace cohom
