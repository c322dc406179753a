#include "ucx_transport/worker.hpp"

#include "ucx_transport/check.hpp"
#include "ucx_transport/library_version.hpp"

#include <algorithm>
#include <random>
#include <string>

namespace cohom::ucx {

namespace {

std::uint64_t random_number() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

ucs_status_t ignore(void* /*worker*/, const void* /*header*/, std::size_t /*header_bytes*/,
                    void* /*data*/, std::size_t /*bytes*/, const ucp_am_recv_param_t* /*param*/) {
  return UCS_OK;
}

}  // namespace

bool is_of_same_worker(std::span<const std::byte> address, std::span<const std::byte> other) {
  // An address begins with a byte or two, then its worker's number of 64 random bits.
  constexpr std::size_t number_at = 1, number_bytes = 8, searched = 16;
  if (other.size() < number_at + number_bytes) return false;
  const auto number = other.subspan(number_at, number_bytes);
  const auto begin = address.first(std::min(address.size(), searched));
  return !std::ranges::search(begin, number).empty();
}

Worker::Worker(const ContextSettings& settings) : context_(settings), id_(random_number()) {
  ucp_worker_params_t params = {};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  check(ucp_worker_create(context_.get(), &params, &worker_), "ucp_worker_create");
  try {
    set_handler(flush_message, ignore, nullptr);
  } catch (...) {
    ucp_worker_destroy(worker_);
    throw;
  }
}

void Worker::set_handler(unsigned id, ucp_am_recv_callback_t handler, void* argument) {
  ucp_am_handler_param_t params = {};
  params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG;
  params.id = id;
  params.cb = handler;
  params.arg = argument;
  check(ucp_worker_set_am_recv_handler(worker_, &params), "ucp_worker_set_am_recv_handler");
}

Worker::~Worker() {
  endpoints_.clear();
  ucp_worker_destroy(worker_);
}

std::shared_ptr<Worker> Worker::of_process() {
  static const auto worker = std::make_shared<Worker>();
  return worker;
}

int Worker::descriptor() const {
  int descriptor = -1;
  check(ucp_worker_get_efd(worker_, &descriptor), "ucp_worker_get_efd");
  return descriptor;
}

std::vector<std::byte> Worker::address() const {
  ucp_worker_attr_t attributes = {};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS;
  check(ucp_worker_query(worker_, &attributes), "ucp_worker_query");
  const auto* const bytes = reinterpret_cast<const std::byte*>(attributes.address);
  std::vector<std::byte> address(bytes, bytes + attributes.address_length);
  ucp_worker_release_address(worker_, attributes.address);
  return address;
}

offload::UcxAddress Worker::sealed_address() const {
  return offload::make_ucx_address(library_version(), address());
}

std::shared_ptr<Endpoint> Worker::connect(std::uint64_t id, std::span<const std::byte> address) {
  auto& endpoint = endpoints_[id];
  if (!endpoint || endpoint->failure() != UCS_OK)
    endpoint = std::make_shared<Endpoint>(worker_, address, id == id_, failures_);
  return endpoint;
}

std::unique_ptr<Endpoint> Worker::make_endpoint(std::span<const std::byte> address) {
  learn_of_deaths();
  return std::make_unique<Endpoint>(worker_, address, false, failures_);
}

/// Where connections wait for their outcome (ContextSettings::addresses_may_be_wrong), one to a
/// peer that has connected to this worker and died since ends the process, unless UCX knows of the
/// death. It learns of deaths when it looks at its sockets, one at a time; and says of such a look
/// that nothing moved. This makes the end rare, not impossible: a peer may die between this look
/// and the connection.
void Worker::learn_of_deaths() {
  constexpr int max_polls = 10000;  // others may send on and on
  constexpr int max_deaths = 64;    // in a row, and at once
  for (int polls = 0, still = 0; polls < max_polls && still <= max_deaths; ++polls)
    still = progress() ? 0 : still + 1;
}

std::uint32_t Worker::take_group() {
  if (groups_taken_.size() == groups)
    throw Error(ErrorKind::transport, "this process has " + std::to_string(groups) +
                                          " communicators over UCX, and no more fit");
  // Numbers in turn, so that a late message of an old group is not taken for a new one's.
  while (!groups_taken_.insert(next_group_).second) next_group_ = (next_group_ + 1) % groups;
  const std::uint32_t group = next_group_;
  next_group_ = (next_group_ + 1) % groups;
  return group;
}

}  // namespace cohom::ucx
