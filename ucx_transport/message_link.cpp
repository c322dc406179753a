#include "ucx_transport/message_link.hpp"

#include "ucx_transport/check.hpp"

#include <chrono>
#include <cstring>
#include <utility>

namespace cohom::ucx {

namespace {

using namespace std::chrono_literals;

/// The number of all messages; Worker::flush_message is another.
constexpr unsigned message_id = 1;

/// For UCX to end what a closed connection has under way.
constexpr auto patience_with_sends = 500ms;

ucs_status_t on_message(void* receiver, const void* header, std::size_t header_bytes, void* data,
                        std::size_t bytes, const ucp_am_recv_param_t* param) {
  auto& to = *static_cast<MessageReceiver*>(receiver);
  NarrowHeader copy;
  const bool narrow = header_bytes == sizeof copy;
  if ((!narrow && header_bytes != sizeof copy.message) ||
      (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
    to.take_garbage();
    return UCS_OK;
  }
  std::memcpy(static_cast<void*>(&copy), header, header_bytes);
  const std::span words(static_cast<const std::byte*>(data), bytes);
  if (narrow)
    to.take_narrow(copy.message,
                   {.narrow_width = copy.narrow_width,
                    .wide_width = copy.wide_width,
                    .has_levels = copy.has_levels != 0,
                    .block = copy.block,
                    .levels = copy.levels},
                   words);
  else
    to.take(copy.message, words);
  return UCS_OK;
}

}  // namespace

void receive_messages(Worker& worker, MessageReceiver& receiver) {
  worker.set_handler(message_id, on_message, &receiver);
}

MessageLink::MessageLink(Worker& worker, std::span<const std::byte> address)
    : worker_(worker), endpoint_(worker.make_endpoint(address)) {}

MessageLink::~MessageLink() {
  endpoint_.reset();
  const auto deadline = std::chrono::steady_clock::now() + patience_with_sends;
  while (!pending_.empty() && std::chrono::steady_clock::now() < deadline) worker_.progress();
  for (auto& operation : pending_) {
    if (operation->pending != nullptr) --*operation->pending;
    operation->link = nullptr;
    static_cast<void>(operation.release());  // UCX's, should it ever be over
  }
}

void MessageLink::send(const cohom_header& header, std::span<const std::byte> data,
                       std::shared_ptr<const void> keep, std::size_t* pending,
                       const Promotion* promotion) {
  // close() is UCX's callback, so it must not fail: capacity for all of them is there before.
  const std::size_t all = pending_.size() + idle_.size() + 1;
  if (pending_.capacity() < all) pending_.reserve(2 * all);
  if (idle_.capacity() < all) idle_.reserve(2 * all);
  if (idle_.empty()) idle_.push_back(std::make_unique<Operation>());
  pending_.push_back(std::move(idle_.back()));
  idle_.pop_back();
  Operation& operation = *pending_.back();
  operation = {this,    {.message = header}, std::move(keep),
               pending, pending_.size() - 1, data.size()};
  queued_bytes_ += data.size();
  if (promotion != nullptr)
    operation.header = {
        header, promotion->narrow_width, promotion->wide_width, promotion->has_levels,
        0,      promotion->block,        promotion->levels};
  if (pending != nullptr) ++*pending;
  const std::size_t header_bytes =
      promotion != nullptr ? sizeof operation.header : sizeof operation.header.message;
  ucp_request_param_t params = {};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                        UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  params.flags = UCP_AM_SEND_FLAG_EAGER;
  params.memory_type = UCS_MEMORY_TYPE_HOST;
  params.cb.send = on_sent;
  params.user_data = &operation;
  void* const request = ucp_am_send_nbx(endpoint_->get(), message_id, &operation.header,
                                        header_bytes, data.data(), data.size(), &params);
  if (request == nullptr)
    close(operation, UCS_OK);
  else if (UCS_PTR_IS_ERR(request))
    close(operation, UCS_PTR_STATUS(request));
}

ucs_status_t MessageLink::failure() const {
  return failure_ != UCS_OK ? failure_ : endpoint_->failure();
}

void MessageLink::on_sent(void* request, ucs_status_t status, void* operation) {
  auto& finished = *static_cast<Operation*>(operation);
  if (finished.link != nullptr)
    finished.link->close(finished, status);
  else
    delete &finished;
  ucp_request_free(request);
}

void MessageLink::close(Operation& operation, ucs_status_t status) {
  if (failure_ == UCS_OK) failure_ = status;
  if (operation.pending != nullptr) --*operation.pending;
  queued_bytes_ -= operation.bytes;
  operation.keep.reset();
  const std::size_t place = operation.place;
  idle_.push_back(std::move(pending_[place]));
  if (place + 1 != pending_.size()) {
    pending_[place] = std::move(pending_.back());
    pending_[place]->place = place;
  }
  pending_.pop_back();
}

}  // namespace cohom::ucx
