#pragma once
// Memory: what UCX was told of the memory that messages come from and go to.

#include "ucx_transport/worker.hpp"

#include <cohom/memory_space.hpp>
#include <cohom/transport.hpp>

#include <ucp/api/ucp.h>

#include <cstddef>
#include <map>
#include <memory>
#include <span>

namespace cohom::ucx {

/// What a send or receive says about its memory.
struct MemoryHandle {
  ucs_memory_type_t type = UCS_MEMORY_TYPE_HOST;
  ucp_mem_h registered = nullptr;  ///< null: UCX finds out itself
};

/// The registrations of one transport. Every message looks its memory up here, so that memory of
/// another space takes the same way as the host's. Its functions want the worker's lock.
class MemoryTable {
 public:
  /// Unregistered memory is the host's.
  [[nodiscard]] MemoryHandle find(const std::byte* address) const;

  void add(std::span<std::byte> memory, MemoryHandle handle);
  void remove(const std::byte* begin);

 private:
  struct Entry {
    std::size_t bytes = 0;
    MemoryHandle handle;
  };
  std::map<const std::byte*, Entry> entries_;  ///< by their first byte
};

class UcxRegistration final : public Registration {
 public:
  /// @throws Error(memory) or Error(transport)
  UcxRegistration(std::shared_ptr<Worker> worker, std::shared_ptr<MemoryTable> table,
                  std::span<std::byte> memory, MemorySpace space);
  ~UcxRegistration() override;
  UcxRegistration(const UcxRegistration&) = delete;
  UcxRegistration& operator=(const UcxRegistration&) = delete;

 private:
  std::shared_ptr<Worker> worker_;
  std::shared_ptr<MemoryTable> table_;
  std::span<std::byte> memory_;
  ucp_mem_h handle_ = nullptr;
};

}  // namespace cohom::ucx
