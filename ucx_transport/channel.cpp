#include "ucx_transport/channel.hpp"

#include "ucx_transport/check.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace cohom::ucx {

namespace {

using namespace std::chrono_literals;
/// Longer than UCX takes to learn that a peer is gone.
constexpr auto patience = 2s;

/// Bytes of a message that Context::eager_over_tcp() speaks of.
constexpr std::size_t eager_by_itself = std::size_t{1} << 20;

/// UCX copies shorter messages whatever it is told.
constexpr std::size_t min_read_from_sender = 256;

/// Of an operation that is over.
void end_flush(const Operation& operation) {
  if (operation.kind == OperationKind::flush_message)
    operation.endpoint->end_flush(operation.covered);
}

constexpr ucp_tag_t whole_tag = ~ucp_tag_t{0};

/// What all operations have in common.
ucp_request_param_t parameters(Operation& operation) {
  ucp_request_param_t params = {};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.user_data = &operation;
  return params;
}

void name_memory(ucp_request_param_t& params, const MemoryHandle& memory) {
  params.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  params.memory_type = memory.type;
  if (memory.registered == nullptr) return;
  params.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
  params.memh = memory.registered;
}

}  // namespace

UcxChannel::UcxChannel(UcxTransport& transport, std::uint32_t number)
    : ChannelBase(transport, patience),
      transport_(transport),
      worker_(*transport.worker_),
      number_(number),
      unflushed_(static_cast<std::size_t>(transport.ranks())),
      failures_seen_(worker_.failures()) {
  unflushed_list_.reserve(unflushed_.size());
}

UcxChannel::~UcxChannel() {
  end();
  const auto lock = worker_.lock();
  for (Operation* operation : pending_) operation->channel = nullptr;
}

/// Other threads may have the worker between two steps.
bool UcxChannel::advance() noexcept {
  const auto lock = worker_.lock();
  if (!pending_.empty()) worker_.progress();
  return pending_.empty();
}

bool UcxChannel::uses_memory() const noexcept {
  const auto lock = worker_.lock();
  return std::ranges::any_of(
      pending_, [](auto* operation) { return operation->kind != OperationKind::flush_message; });
}

void UcxChannel::send(std::span<const std::byte> data, int peer, std::uint32_t tag,
                      std::uint64_t cookie) {
  expect_tag(tag);
  const auto lock = worker_.lock();
  const ucp_tag_t whole = transport_.tag(number_, tag, transport_.rank(), peer);
  const Endpoint& endpoint = transport_.endpoint_of(peer);
  if (endpoint.path() != Path::memory)
    count_send(peer);  // there it is the peer's when it is complete
  Operation& operation = start(OperationKind::send, peer, {.cookie = cookie, .bytes = data.size()});
  ucp_request_param_t params = parameters(operation);
  params.cb.send = on_sent;
  MemoryHandle memory = transport_.memory_->find(data.data());
  const std::byte* from = data.data();
  if (memory.type == UCS_MEMORY_TYPE_HOST && !data.empty() &&
      data.size() <= Operation::max_copied) {
    std::ranges::copy(data, operation.copy.get());
    from = operation.copy.get();
    memory = {};
  }
  name_memory(params, memory);
  // UCX's word for: do not wait for the receiver.
  if (endpoint.path() == Path::tcp &&
      (!worker_.context().eager_over_tcp() || data.size() > eager_by_itself))
    params.op_attr_mask |= UCP_OP_ATTR_FLAG_FAST_CMPL;
  void* const request = ucp_tag_send_nbx(endpoint.get(), from, data.size(), whole, &params);
  started(operation, request);
  count_sent(peer, data.size());
}

void UcxChannel::receive(std::span<std::byte> buffer, int peer, std::uint32_t tag,
                         std::uint64_t cookie) {
  expect_tag(tag);
  const auto lock = worker_.lock();
  const ucp_tag_t whole = transport_.tag(number_, tag, peer, transport_.rank());
  expect_reachable(peer);
  Operation& operation =
      start(OperationKind::receive, peer, {.cookie = cookie, .bytes = buffer.size()});
  ucp_request_param_t params = parameters(operation);
  params.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;  // only the callback knows the length
  params.cb.recv = on_received;
  name_memory(params, transport_.memory_->find(buffer.data()));
  void* const request =
      ucp_tag_recv_nbx(worker_.get(), buffer.data(), buffer.size(), whole, whole_tag, &params);
  started(operation, request);
}

std::size_t UcxChannel::poll(std::span<Completion> out) {
  const auto lock = worker_.lock();
  // Also where sends were complete at once: who sends on and on would receive nothing.
  worker_.progress();
  const std::size_t count = ready_.pop(out);
  if (count == 0) throw_failure();
  return count;
}

bool UcxChannel::flushed() {
  const auto lock = worker_.lock();
  if (!pending_.empty()) worker_.progress();
  std::erase_if(unflushed_list_, [&](int peer) { return peer_is_flushed(peer); });
  if (!unflushed_list_.empty()) worker_.progress();
  return pending_.empty() && unflushed_list_.empty();
}

bool UcxChannel::peer_is_flushed(int peer) {
  Endpoint& endpoint = transport_.endpoint_of(peer);
  auto& last = unflushed_[static_cast<std::size_t>(peer)];
  if (endpoint.needs_flush(last)) {
    Operation& operation = start(OperationKind::flush_message, peer, {});
    operation.endpoint = &endpoint;
    operation.covered = endpoint.begin_flush();
    ucp_request_param_t params = parameters(operation);
    params.cb.send = on_sent;
    started(operation, ucp_am_send_nbx(endpoint.get(), Worker::flush_message, nullptr, 0, nullptr,
                                       0, &params));
  }
  if (!endpoint.is_flushed(last)) return false;
  last = 0;
  return true;
}

void UcxChannel::count_send(int peer) {
  auto& last = unflushed_[static_cast<std::size_t>(peer)];
  if (last == 0) unflushed_list_.push_back(peer);  // there is room for all ranks
  last = transport_.endpoint_of(peer).count_send();
}

Operation& UcxChannel::start(OperationKind kind, int peer, const Completion& completion) {
  ready_.reserve(pending_.size() + 1);  // for what UCX will finish: its callbacks cannot fail
  pending_.push_back(nullptr);
  Operation* const operation = worker_.operations().take();
  operation->kind = kind;
  operation->channel = this;
  operation->completion = completion;
  operation->peer = peer;
  operation->place = pending_.size() - 1;
  pending_.back() = operation;
  return *operation;
}

/// Takes what UCX returned: null for what is finished already, an error, or a request that will be.
void UcxChannel::started(Operation& operation, void* request) {
  if (request == nullptr || UCS_PTR_IS_ERR(request)) {
    note(operation, request == nullptr ? UCS_OK : UCS_PTR_STATUS(request),
         operation.completion.bytes);
    close(operation);
  } else if (operation.over) {
    close(operation);
  } else {
    operation.request = request;
  }
}

void UcxChannel::on_sent(void* request, ucs_status_t status, void* operation) {
  auto& finished = *static_cast<Operation*>(operation);
  complete(finished, status, finished.completion.bytes);
  ucp_request_free(request);
}

void UcxChannel::on_received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info,
                             void* operation) {
  complete(*static_cast<Operation*>(operation), status, info->length);
  ucp_request_free(request);
}

void UcxChannel::complete(Operation& operation, ucs_status_t status, std::size_t bytes) {
  if (operation.channel == nullptr) {
    end_flush(operation);
    return operation.pool->give_back(&operation);
  }
  operation.channel->note(operation, status, bytes);
  operation.over = true;
  if (operation.request != nullptr) operation.channel->close(operation);
}

/// A connection that breaks before its flush message harms nobody: who is gone waits for nothing.
void UcxChannel::note(const Operation& operation, ucs_status_t status, std::size_t bytes) {
  if (operation.kind == OperationKind::flush_message) return end_flush(operation);
  if (status == UCS_OK) {
    ready_.push({.cookie = operation.completion.cookie, .bytes = bytes});
    // Who read from the sender's memory tells it so. Over TCP nobody does.
    if (operation.kind == OperationKind::receive && bytes >= min_read_from_sender &&
        transport_.endpoint_of(operation.peer).path() != Path::tcp)
      count_send(operation.peer);
  } else if (!failure_ && !closing_) {
    const bool sends = operation.kind == OperationKind::send;
    failure_.emplace(ErrorKind::transport,
                     "a message of " + std::to_string(operation.completion.bytes) + " bytes " +
                         (sends ? "to rank " : "at most from rank ") +
                         std::to_string(operation.peer) + ": " + ucs_status_string(status));
  }
}

void UcxChannel::close(Operation& operation) {
  pending_[operation.place] = pending_.back();
  pending_[operation.place]->place = operation.place;
  pending_.pop_back();
  operation.pool->give_back(&operation);
}

/// Tag receives belong to no connection, so UCX does not end them when one breaks.
void UcxChannel::throw_failure() {
  if (failure_) throw Error(*failure_);
  if (failures_seen_ == worker_.failures()) return;
  failures_seen_ = worker_.failures();
  for (const Operation* operation : pending_)
    if (operation->kind == OperationKind::receive) expect_reachable(operation->peer);
}

void UcxChannel::expect_reachable(int peer) {
  const ucs_status_t status = transport_.endpoint_of(peer).failure();
  if (status != UCS_OK)
    throw Error(ErrorKind::transport,
                "rank " + std::to_string(peer) +
                    " cannot be reached any more: " + ucs_status_string(status));
}

void UcxChannel::cancel_receives() noexcept {
  const auto lock = worker_.lock();
  closing_ = true;
  for (std::size_t i = pending_.size(); i-- > 0;) {  // cancelling closes, and the last one moves up
    const Operation& operation = *pending_[i];
    if (operation.kind == OperationKind::receive)
      ucp_request_cancel(worker_.get(), operation.request);
  }
}

/// A receive that met its message cannot be cancelled, and must not be left behind; unless nobody
/// is there any more who could send the rest.
bool UcxChannel::is_being_written_to() const noexcept {
  const auto lock = worker_.lock();
  return std::ranges::any_of(pending_, [&](const Operation* operation) {
    return operation->kind == OperationKind::receive &&
           transport_.endpoint_of(operation->peer).failure() == UCS_OK;
  });
}

}  // namespace cohom::ucx
