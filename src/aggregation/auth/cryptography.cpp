#include "aggregation/auth/cryptography.hpp"

#include <cohom/error.hpp>

#include <sodium.h>

#include <algorithm>
#include <cstring>

namespace cohom::offload {

namespace {

static_assert(sizeof(Mac) == crypto_auth_hmacsha256_BYTES);
static_assert(sizeof(PublicKey) == crypto_sign_PUBLICKEYBYTES);
static_assert(sizeof(Signature) == crypto_sign_BYTES);
static_assert(sizeof(SigningKey::Seed) == crypto_sign_SEEDBYTES);

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

bool has_cryptography() { return true; }

void need_cryptography() {
  // May be called often, and by several threads.
  if (sodium_init() < 0) throw Error(ErrorKind::unsupported, "libsodium cannot start");
}

Nonce random_nonce() {
  need_cryptography();
  Nonce nonce;
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

Mac mac_of(std::string_view key, std::string_view text) {
  need_cryptography();
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, bytes_of(key), key.size());
  crypto_auth_hmacsha256_update(&state, bytes_of(text), text.size());
  Mac mac;
  crypto_auth_hmacsha256_final(&state, mac.data());
  sodium_memzero(&state, sizeof state);
  return mac;
}

bool same(const Mac& one, const Mac& other) {
  return sodium_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::uint64_t short_hash(std::string_view text) {
  need_cryptography();
  std::array<std::uint8_t, crypto_generichash_BYTES> hash{};
  crypto_generichash(hash.data(), hash.size(), bytes_of(text), text.size(), nullptr, 0);
  std::uint64_t number = 0;
  std::memcpy(&number, hash.data(), sizeof number);
  return number;
}

bool is_signed(const PublicKey& key, const Signature& signature, std::string_view text) {
  need_cryptography();
  return crypto_sign_verify_detached(signature.data(), bytes_of(text), text.size(), key.data()) ==
         0;
}

SigningKey::SigningKey(const Seed& seed) {
  need_cryptography();
  crypto_sign_seed_keypair(public_.data(), private_.data(),
                           reinterpret_cast<const unsigned char*>(seed.data()));
}

Signature SigningKey::sign(std::string_view text) const {
  Signature signature;
  crypto_sign_detached(signature.data(), nullptr, bytes_of(text), text.size(), private_.data());
  return signature;
}

}  // namespace cohom::offload
