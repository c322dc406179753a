#include "ucx_transport/endpoint.hpp"

#include "ucx_transport/check.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace cohom::ucx {

namespace {

struct Free {
  void operator()(char* text) const { std::free(text); }
};

/// What UCX prints about an endpoint: this version has no other way to ask for its path.
std::string description_of(ucp_ep_h endpoint) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const file = open_memstream(&text, &size);
  if (file == nullptr) throw std::bad_alloc();
  ucp_ep_print_info(endpoint, file);
  std::fclose(file);
  const std::unique_ptr<char, Free> owned(text);
  return {text, size};
}

/// The transports of its lanes, each once. A lane's line is
///   lane[0]:  1:tcp/eth0.0 md[1]  -> ...
std::vector<std::string> transports_in(const std::string& description) {
  std::vector<std::string> transports;
  for (std::size_t at = 0; (at = description.find("lane[", at)) != std::string::npos; ++at) {
    const std::size_t slash = description.find('/', at);
    if (slash == std::string::npos) break;
    const std::size_t colon = description.rfind(':', slash);
    std::string name = description.substr(colon + 1, slash - colon - 1);
    if (std::ranges::find(transports, name) == transports.end())
      transports.push_back(std::move(name));
  }
  return transports;
}

}  // namespace

Endpoint::Endpoint(ucp_worker_h worker, std::span<const std::byte> address, bool to_itself,
                   std::size_t& failures)
    : worker_(worker), failures_(failures) {
  ucp_ep_params_t params = {};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  // UCX's transport within a process notices no failures, and needs not.
  params.err_mode = to_itself ? UCP_ERR_HANDLING_MODE_NONE : UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {.cb = on_failure, .arg = this};
  check(ucp_ep_create(worker, &params, &endpoint_), "ucp_ep_create");
  read_path();
}

Endpoint::~Endpoint() {
  ucp_request_param_t params = {};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_EP_CLOSE_FLAG_FORCE;
  void* const request = ucp_ep_close_nbx(endpoint_, &params);
  if (request == nullptr || UCS_PTR_IS_ERR(request)) return;
  while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker_);
  ucp_request_free(request);
}

void Endpoint::read_path() {
  for (const std::string& transport : transports_in(description_of(endpoint_))) {
    path_ = std::max(path_, path_by(transport));
    path_text_ += (path_text_.empty() ? "" : " ") + transport;
  }
}

void Endpoint::on_failure(void* endpoint, ucp_ep_h /*handle*/, ucs_status_t status) {
  auto& self = *static_cast<Endpoint*>(endpoint);
  self.failure_ = status;
  ++self.failures_;
}

}  // namespace cohom::ucx
