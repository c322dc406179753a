#include "aggregation/auth/munge.hpp"

#include "base/environment.hpp"

#include <cohom/error.hpp>

#include <munge.h>

#include <cstdlib>
#include <memory>

namespace cohom::offload {

namespace {

struct FreeContext {
  void operator()(munge_ctx_t context) const { ::munge_ctx_destroy(context); }
};
struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, FreeMemory>;

/// For one call: contexts are for one thread at a time.
class Context {
 public:
  Context() : context_(::munge_ctx_create()) {
    if (!context_) throw Error(ErrorKind::transport, "munge: no memory");
    const std::string socket = option_or_environment({}, munge_socket_variable, "");
    if (!socket.empty()) check(::munge_ctx_set(get(), MUNGE_OPT_SOCKET, socket.c_str()));
  }
  [[nodiscard]] munge_ctx_t get() const { return context_.get(); }

  void check(munge_err_t error) const {
    if (error == EMUNGE_SUCCESS) return;
    const char* const text = ::munge_ctx_strerror(get());
    throw Error(is_of_munged(error) ? ErrorKind::transport : ErrorKind::invalid_argument,
                std::string("munge: ") + (text != nullptr ? text : ::munge_strerror(error)));
  }

 private:
  /// And not of the credential.
  static bool is_of_munged(munge_err_t error) {
    return error == EMUNGE_SNAFU || error == EMUNGE_BAD_ARG || error == EMUNGE_OVERFLOW ||
           error == EMUNGE_NO_MEMORY || error == EMUNGE_SOCKET || error == EMUNGE_TIMEOUT;
  }

  std::unique_ptr<munge_ctx, FreeContext> context_;
};

}  // namespace

bool has_munge() { return true; }

std::string make_credential(std::string_view text) {
  const Context context;
  char* made = nullptr;
  const munge_err_t error =
      ::munge_encode(&made, context.get(), text.data(), static_cast<int>(text.size()));
  const Memory credential(made);
  context.check(error);
  return made;
}

uid_t user_of_credential(const std::string& credential, std::string_view text) {
  if (credential.size() > max_credential_bytes)
    throw Error(ErrorKind::invalid_argument,
                "a credential of munge of " + std::to_string(credential.size()) +
                    " bytes; it should have at most " + std::to_string(max_credential_bytes));
  const Context context;
  void* found = nullptr;
  int size = 0;
  uid_t user = 0;
  gid_t group = 0;
  const munge_err_t error =
      ::munge_decode(credential.c_str(), context.get(), &found, &size, &user, &group);
  const Memory content(found);  // there also with some errors
  context.check(error);
  if (std::string_view(static_cast<const char*>(found), static_cast<std::size_t>(size)) != text)
    throw Error(ErrorKind::invalid_argument, "a credential of munge for another handshake");
  return user;
}

}  // namespace cohom::offload
