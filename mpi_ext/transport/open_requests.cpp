#include "mpi_ext/transport/open_requests.hpp"

#include "mpi_ext/base/mpi_check.hpp"

#include <algorithm>
#include <thread>

namespace cohom::mpi {

namespace {
constexpr std::size_t initial_capacity = 64;
}

OpenRequests::OpenRequests() {
  requests_.reserve(initial_capacity);
  entries_.reserve(initial_capacity);
  ready_.reserve(initial_capacity);
  indices_.resize(initial_capacity);
  statuses_.resize(initial_capacity);
}

void OpenRequests::reserve() {
  const std::size_t wanted = requests_.size() + 1;
  if (wanted <= indices_.size()) return;
  const std::size_t capacity = 2 * wanted;
  requests_.reserve(capacity);
  entries_.reserve(capacity);
  ready_.reserve(capacity);
  statuses_.resize(capacity);
  indices_.resize(capacity);  // last: its size says that all have room
}

void OpenRequests::add(MPI_Request request, Completion completion, bool receives) noexcept {
  requests_.push_back(request);
  entries_.push_back({completion, receives});
}

std::size_t OpenRequests::poll(std::span<Completion> out) {
  // MPI looks at the network only when nothing is complete, and sends of buffered data are at once:
  // a rank that computes and sends would never see what came.
  if (ready_.empty() && collect() == Found::sends) collect();
  return ready_.pop(out);
}

OpenRequests::Found OpenRequests::collect() {
  if (requests_.empty()) return Found::nothing;
  int count = 0;
  const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                indices_.data(), statuses_.data());
  if (count == MPI_UNDEFINED || count < 0) count = 0;
  if (count == 0) {
    check(code, "MPI_Testsome");
    return Found::nothing;
  }
  Found found = Found::sends;
  int error = MPI_SUCCESS;
  std::size_t first = requests_.size();
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
    MPI_Status& status = statuses_[static_cast<std::size_t>(i)];
    // MPI fills MPI_ERROR only when the call as a whole reports an error.
    if (code == MPI_SUCCESS) status.MPI_ERROR = MPI_SUCCESS;
    if (entries_[index].receives) found = Found::receives;
    take(status, entries_[index], error);
    requests_[index] = MPI_REQUEST_NULL;
    first = std::min(first, index);
  }
  drop_finished(first);
  check(error, "an MPI message failed");
  return found;
}

void OpenRequests::take(const MPI_Status& status, Entry& entry, int& error) {
  if (status.MPI_ERROR != MPI_SUCCESS) {
    error = status.MPI_ERROR;
    return;
  }
  if (entry.receives) {
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    entry.completion.bytes = static_cast<std::size_t>(bytes);
  }
  ready_.push(entry.completion);
}

/// Closes the gaps of finished requests, the first of which is known; keeps the order.
void OpenRequests::drop_finished(std::size_t first) noexcept {
  std::size_t kept = first;
  for (std::size_t i = first; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[i];
    entries_[kept] = entries_[i];
    ++kept;
  }
  requests_.resize(kept);
  entries_.resize(kept);
}

/// Tests every request once and drops those that finished, well or not.
bool OpenRequests::advance() noexcept {
  if (requests_.empty() || !usable()) return true;
  for (auto& request : requests_) {
    int done = 0;
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) request = MPI_REQUEST_NULL;
  }
  drop_finished(0);
  return requests_.empty();
}

void OpenRequests::cancel_receives() noexcept {
  ready_.clear();
  if (advance()) return;
  for (std::size_t i = 0; i < requests_.size(); ++i)
    if (entries_[i].receives) MPI_Cancel(&requests_[i]);
}

bool OpenRequests::has_receives() const noexcept {
  return std::ranges::any_of(entries_, &Entry::receives);
}

void OpenRequests::abandon() noexcept {
  if (requests_.empty()) return;
  if (usable())
    for (auto& request : requests_) MPI_Request_free(&request);
  requests_.clear();
  entries_.clear();
}

void OpenRequests::drain() noexcept {
  while (!advance()) std::this_thread::yield();
}

}  // namespace cohom::mpi
