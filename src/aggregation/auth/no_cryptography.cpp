// What stands for cryptography in builds without libsodium.

#include "aggregation/auth/cryptography.hpp"

#include <cohom/error.hpp>

namespace cohom::offload {

namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorKind::unsupported,
              "aggregators in the network need libsodium, and this build of cohom has none");
}

}  // namespace

bool has_cryptography() { return false; }
void need_cryptography() { refuse(); }
Nonce random_nonce() { refuse(); }
Mac mac_of(std::string_view, std::string_view) { refuse(); }
bool same(const Mac&, const Mac&) { return false; }
std::uint64_t short_hash(std::string_view) { refuse(); }
bool is_signed(const PublicKey&, const Signature&, std::string_view) { return false; }
SigningKey::SigningKey(const Seed&) { refuse(); }
Signature SigningKey::sign(std::string_view) const { return {}; }

}  // namespace cohom::offload
