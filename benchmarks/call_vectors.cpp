#include "call_vectors.hpp"

#include "command_line.hpp"
#include "memory/device_loader.hpp"

#include <fmt/format.h>

#include <cstring>

namespace cohom::bench {
namespace {

int rank_of_host(MPI_Comm comm) {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int rank = 0;
  MPI_Comm_rank(host, &rank);
  MPI_Comm_free(&host);
  return rank;
}

}  // namespace

CallVectors::CallVectors(MemorySpace space, MPI_Comm comm)
    : space_(space), rank_of_host_(rank_of_host(comm)) {}

void CallVectors::open() {
  if (is_host()) return;
  library_ = device_library();
  if (library_ == nullptr)
    throw UsageError(fmt::format("--memory {}: {}", name_of(space_), why_no_device()));
  library_->runtime->set_device(rank_of_host_ % library_->runtime->devices());
}

void CallVectors::make(Elements& input, Elements& output) {
  host_input_ = &input;
  host_output_ = &output;
  input_ = input.data();
  output_ = output.data();
  if (is_host()) return;
  auto& runtime = *library_->runtime;
  const bool pinned = space_ == MemorySpace::pinned;
  const auto make_one = [&](std::shared_ptr<void>& own) {
    own.reset();  // so that two sizes are never in memory together
    void* const memory =
        pinned ? runtime.allocate_pinned(input.bytes.size()) : runtime.allocate(input.bytes.size());
    own = {memory, [&runtime, pinned](void* old) {
             pinned ? runtime.free_pinned(old) : runtime.free(old);
           }};
    return memory;
  };
  input_ = make_one(own_input_);
  output_ = make_one(own_output_);
  copy(input_, input.data(), Direction::to_calls);
}

void CallVectors::copy(void* to, const void* from, Direction direction) const {
  const std::size_t bytes = host_input_->bytes.size();
  if (to == from || bytes == 0) return;
  if (space_ != MemorySpace::cuda) {
    std::memcpy(to, from, bytes);
    return;
  }
  auto& runtime = *library_->runtime;
  if (direction == Direction::to_calls)
    runtime.copy_to_device(to, from, bytes, nullptr);
  else
    runtime.copy_to_host(to, from, bytes, nullptr);
  runtime.synchronise(nullptr);
}

void CallVectors::set_output() { copy(output_, host_output_->data(), Direction::to_calls); }
void CallVectors::put_input_in_place() { copy(output_, host_input_->data(), Direction::to_calls); }
void CallVectors::fetch_output() { copy(host_output_->data(), output_, Direction::to_host); }

std::string memory_text(MemorySpace space) {
  const auto* const library = loaded_device_library();
  if (space != MemorySpace::cuda || library == nullptr) return std::string(name_of(space));
  return fmt::format("{} ({})", name_of(space),
                     library->runtime->device_name(library->runtime->current_device()));
}

}  // namespace cohom::bench
