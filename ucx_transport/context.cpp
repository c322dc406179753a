#include "ucx_transport/context.hpp"

#include "base/log.hpp"
#include "ucx_transport/check.hpp"
#include "ucx_transport/loaded_library.hpp"
#include "ucx_transport/path.hpp"
#include "ucx_transport/transport_list.hpp"

#include <cohom/ucx.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
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

/// The transports of this machine that UCX may use.
std::vector<std::string> usable_transports(const std::string& list) {
  std::vector<std::string> names;
  for (Resource& resource : resources())
    if (allows(list, resource.transport)) names.push_back(std::move(resource.transport));
  return names;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// Sets a parameter of transports, whose names change with UCX's versions: some refuse those that
/// they do not know, others warn by themselves.
void set_of_transports(const Config& config, const char* name, const char* value) {
  const ucs_status_t status = ucp_config_modify(config.get(), name, value);
  if (status != UCS_OK)
    warn_once_for_all(0, "UCX does not take " + std::string(name) + "=" + value + ": " +
                             ucs_status_string(status));
}

/// A peer that dies is an error, in shared memory too, and not only after UCX's 20 s. What UCX
/// calls invalidation is for senders that go on after an error; ours do not. UCX warns of
/// parameters of transports that it does not use.
void notice_failures(const Config& config, const std::vector<std::string>& transports) {
  if (contains(transports, "posix") || contains(transports, "sysv"))
    set_of_transports(config, "MM_ERROR_HANDLING", "y");
  if (contains(transports, "cma")) set_of_transports(config, "MEMORY_INVALIDATE", "y");
  set_default(config, "KEEPALIVE_INTERVAL", "1s");
}

/// Sets a parameter of TCP. UCX 1.13 takes it without the transport's name, and then for all
/// transports that have one so called.
void set_of_tcp(const Config& config, const std::string& name, const char* value) {
  unsigned major = 0, minor = 0, release = 0;
  ucp_get_version(&major, &minor, &release);
  const bool by_short_name = major == 1 && minor <= 13;
  set_of_transports(config, (by_short_name ? name : "TCP_" + name).c_str(), value);
}

/// UCX looks at the events of several sockets and then handles them in turn. Handling one may send
/// to a peer that has just died, which closes its socket; UCX then meets that socket's own event
/// among the rest, asserts that it is open, and ends the process. One event a look has no rest (for
/// CUDA's transports, too), so what the user says does not count.
void survive_closed_sockets(const Config& config, const std::vector<std::string>& transports) {
  if (contains(transports, "tcp")) set_of_tcp(config, "MAX_POLL", "1");
}

/// To a peer that has connected to this process, UCX connects back through the same socket. When
/// the peer has died, UCX opens a new socket instead. Where connecting waits for its outcome, it
/// fails then and there, before UCX has noted that the endpoint may send; UCX plans to destroy it
/// as one that may not, notes it all the same, asserts that it has not, and ends the process. Where
/// connecting does not wait, it fails later, as any other connection does. What the user says does
/// not count.
void survive_connecting_to_the_dead(const Config& config,
                                    const std::vector<std::string>& transports) {
  if (contains(transports, "tcp")) set_of_tcp(config, "CONN_NB", "y");
}

/// Over TCP no message waits for its receiver. UCX has one threshold for all its transports, but
/// computes it for each: the slower an eager message may be, in percent (negative: must be faster),
/// the more is sent so. At -50 it is all of TCP's, as rendezvous saves no copy there, and of shared
/// memory only what is short. Fast networks are left as they are. Returns whether it is so.
bool send_eagerly_over_tcp(const Config& config, const std::vector<std::string>& transports) {
  // For sends that ask for fast completion.
  set_default(config, "RNDV_SEND_NBR_THRESH", "inf");
  if (!std::ranges::all_of(
          transports, [](const std::string& name) { return path_by(name) != Path::network; }) ||
      variable("RNDV_PERF_DIFF") != nullptr || variable("RNDV_THRESH") != nullptr)
    return false;
  set(config, "RNDV_PERF_DIFF", "-50");
  return true;
}

}  // namespace

Context::Context(const ContextSettings& settings) {
  try {
    start(settings);
  } catch (const Error& error) {
    const std::string note = version_note();
    if (note.empty()) throw;
    throw Error(error.kind(), std::string(error.what()) + " (" + note + ")");
  }
  if (const std::string note = version_note(); !note.empty()) warn_once_for_all(0, note);
}

void Context::start(const ContextSettings& settings) {
  ucp_config_t* read = nullptr;
  check(ucp_config_read(prefix, nullptr, &read), "ucp_config_read");
  const Config config(read);
  const char* const wanted = variable("TLS");
  std::string transports = settings.transports;
  if (!transports.empty())
    set(config, "TLS", transports);
  else if (wanted != nullptr)
    transports = wanted;
  if (!settings.devices.empty()) set(config, "NET_DEVICES", settings.devices);
  const auto usable = usable_transports(transports);
  notice_failures(config, usable);
  survive_closed_sockets(config, usable);
  if (!settings.addresses_may_be_wrong) survive_connecting_to_the_dead(config, usable);
  eager_over_tcp_ = send_eagerly_over_tcp(config, usable);

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
