#include "context.hpp"

#include "check.hpp"
#include "transport_list.hpp"

#include <cohom/ucx.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

namespace cohom::ucx {

namespace {

/// UCX reads COHOM_UCX_... before UCX_....
constexpr const char* prefix = "COHOM";

struct ReleaseConfig {
  void operator()(ucp_config_t* config) const { ucp_config_release(config); }
};
using Config = std::unique_ptr<ucp_config_t, ReleaseConfig>;

/// What the user set; null when he did not.
const char* variable(const std::string& name) {
  const std::string common = "UCX_" + name;
  const std::string own = std::string(prefix) + "_" + common;
  const char* const value = std::getenv(own.c_str());
  return value != nullptr ? value : std::getenv(common.c_str());
}

void set(const Config& config, const char* name, const std::string& value) {
  check(ucp_config_modify(config.get(), name, value.c_str()),
        "UCX_" + std::string(name) + "=" + value);
}

void set_default(const Config& config, const char* name, const char* value) {
  if (variable(name) == nullptr) set(config, name, value);
}

/// A peer that dies is an error, in shared memory too, and not only after UCX's 20 s. What UCX calls
/// invalidation is for senders that go on after an error; ours do not. UCX warns of parameters of
/// transports that it does not use.
void notice_failures(const Config& config, const std::string& transports) {
  const std::vector<Resource> available = resources();
  const auto used = [&](std::string_view name) {
    return allows(transports, name) &&
           std::ranges::any_of(
               available, [&](const Resource& resource) { return resource.transport == name; });
  };
  if (used("posix") || used("sysv")) set(config, "MM_ERROR_HANDLING", "y");
  if (used("cma")) set(config, "MEMORY_INVALIDATE", "y");
  set_default(config, "KEEPALIVE_INTERVAL", "1s");
}

}  // namespace

Context::Context(const ContextSettings& settings) {
  ucp_config_t* read = nullptr;
  check(ucp_config_read(prefix, nullptr, &read), "ucp_config_read");
  const Config config(read);
  const char* const wanted = variable("TLS");
  std::string transports = settings.transports;
  if (!transports.empty())
    set(config, "TLS", transports);
  else if (wanted != nullptr)
    transports = wanted;
  // Sends that ask for fast completion (all over TCP) never wait for their receiver.
  set_default(config, "RNDV_SEND_NBR_THRESH", "inf");
  notice_failures(config, transports);

  ucp_params_t params = {};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  params.features = settings.features;
  params.name = "cohom";
  check(ucp_init(&params, config.get(), &context_), "ucp_init");
}

Context::~Context() { ucp_cleanup(context_); }

bool Context::reaches(MemorySpace space) const {
  ucp_context_attr_t attributes = {};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  if (ucp_context_query(context_, &attributes) != UCS_OK) return space == MemorySpace::host;
  return (attributes.memory_types >> memory_type_of(space) & 1) != 0;
}

}  // namespace cohom::ucx
