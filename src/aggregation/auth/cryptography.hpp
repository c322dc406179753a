#pragma once
// Cryptography: what of libsodium the control channel uses. In builds without it has_cryptography()
// is false, and everything else here is an error.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cohom::offload {

/// Random, never used twice.
using Nonce = std::array<std::uint8_t, 32>;
/// HMAC-SHA-256.
using Mac = std::array<std::uint8_t, 32>;
/// Ed25519.
using PublicKey = std::array<std::uint8_t, 32>;
using Signature = std::array<std::uint8_t, 64>;

bool has_cryptography();
/// @throws Error(unsupported) in builds without libsodium, which says what they lack it for.
void need_cryptography();

Nonce random_nonce();
/// A key of any length. @throws Error(unsupported), as all that follows.
Mac mac_of(std::string_view key, std::string_view text);
/// In a time that does not depend on where they differ.
bool same(const Mac& one, const Mac& other);
/// The first 64 bits of a hash (BLAKE2b).
std::uint64_t short_hash(std::string_view text);
bool is_signed(const PublicKey& key, const Signature& signature, std::string_view text);

template <std::size_t N>
std::string_view as_text(const std::array<std::uint8_t, N>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), N};
}

/// A pair of keys whose private one stays here.
class SigningKey {
 public:
  using Seed = std::array<std::byte, 32>;
  explicit SigningKey(const Seed& seed);
  [[nodiscard]] const PublicKey& public_key() const { return public_; }
  [[nodiscard]] Signature sign(std::string_view text) const;

 private:
  PublicKey public_{};
  std::array<std::uint8_t, 64> private_{};
};

}  // namespace cohom::offload
