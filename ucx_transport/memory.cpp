#include "ucx_transport/memory.hpp"

#include "ucx_transport/check.hpp"

#include <iterator>
#include <utility>

namespace cohom::ucx {

MemoryHandle MemoryTable::find(const std::byte* address) const {
  auto entry = entries_.upper_bound(address);
  if (entry == entries_.begin()) return {};
  --entry;
  return address < entry->first + entry->second.bytes ? entry->second.handle : MemoryHandle{};
}

void MemoryTable::add(std::span<std::byte> memory, MemoryHandle handle) {
  entries_[memory.data()] = {memory.size(), handle};
}

void MemoryTable::remove(const std::byte* begin) { entries_.erase(begin); }

UcxRegistration::UcxRegistration(std::shared_ptr<Worker> worker, std::shared_ptr<MemoryTable> table,
                                 std::span<std::byte> memory, MemorySpace space)
    : worker_(std::move(worker)), table_(std::move(table)), memory_(memory) {
  ucp_mem_map_params_t params = {};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                      UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE;
  params.address = memory.data();
  params.length = memory.size();
  params.memory_type = memory_type_of(space);
  const auto lock = worker_->lock();
  check(ucp_mem_map(worker_->context().get(), &params, &handle_), "ucp_mem_map");
  table_->add(memory, {params.memory_type, handle_});
}

UcxRegistration::~UcxRegistration() {
  const auto lock = worker_->lock();
  table_->remove(memory_.data());
  ucp_mem_unmap(worker_->context().get(), handle_);
}

}  // namespace cohom::ucx
