#include "server/sealed_text.h"

#include <cstddef>
#include <memory>

#include <openssl/evp.h>

#include "core/base64.h"
#include "core/random_text.h"
#include "server/internal/secrets.h"

namespace kedge::server {
namespace {

// The sealed bytes, in base64: salt, nonce, text, tag.
constexpr std::size_t kSaltBytes = 16;
constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kKeyBytes = 32;

struct ContextDeleter {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};

using Context = std::unique_ptr<EVP_CIPHER_CTX, ContextDeleter>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(std::string& text, std::size_t from = 0) {
  return reinterpret_cast<unsigned char*>(text.data()) + from;
}

std::string make_key(std::string_view passphrase, std::string_view salt) {
  return scrypt(passphrase, salt, {}, kKeyBytes);
}

Error not_sealed() {
  return {ErrorKind::Corrupt, "a sealed text cannot be opened with this passphrase", ""};
}

}  // namespace

Result<std::string> seal_text(std::string_view text, std::string_view passphrase,
                              std::string_view about) {
  const std::string salt = make_random_bytes(kSaltBytes);
  const std::string nonce = make_random_bytes(kNonceBytes);
  const std::string key = make_key(passphrase, salt);
  const Context context(EVP_CIPHER_CTX_new());
  std::string cipher(text.size(), '\0');
  std::string tag(kTagBytes, '\0');
  int length = 0;
  const bool is_done =
      context != nullptr &&
      EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key),
                         bytes_of(nonce)) == 1 &&
      EVP_EncryptUpdate(context.get(), nullptr, &length, bytes_of(about),
                        static_cast<int>(about.size())) == 1 &&
      EVP_EncryptUpdate(context.get(), bytes_of(cipher), &length, bytes_of(text),
                        static_cast<int>(text.size())) == 1 &&
      EVP_EncryptFinal_ex(context.get(), bytes_of(cipher, cipher.size()), &length) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, tag.data()) == 1;
  if (!is_done) {
    return fail(ErrorKind::Io, "a text cannot be sealed");
  }
  return encode_base64(salt + nonce + cipher + tag);
}

Result<std::string> open_text(std::string_view sealed, std::string_view passphrase,
                              std::string_view about) {
  const auto decoded = decode_base64(sealed);
  if (!decoded || decoded->size() < kSaltBytes + kNonceBytes + kTagBytes) {
    return std::unexpected(not_sealed());
  }
  const std::string_view whole = *decoded;
  const std::string key = make_key(passphrase, whole.substr(0, kSaltBytes));
  const std::string_view nonce = whole.substr(kSaltBytes, kNonceBytes);
  const std::string_view cipher =
      whole.substr(kSaltBytes + kNonceBytes, whole.size() - kSaltBytes - kNonceBytes - kTagBytes);
  std::string tag(whole.substr(whole.size() - kTagBytes));
  const Context context(EVP_CIPHER_CTX_new());
  std::string text(cipher.size(), '\0');
  int length = 0;
  const bool is_same =
      context != nullptr &&
      EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key),
                         bytes_of(nonce)) == 1 &&
      EVP_DecryptUpdate(context.get(), nullptr, &length, bytes_of(about),
                        static_cast<int>(about.size())) == 1 &&
      EVP_DecryptUpdate(context.get(), bytes_of(text), &length, bytes_of(cipher),
                        static_cast<int>(cipher.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(context.get(), bytes_of(text, text.size()), &length) == 1;
  if (!is_same) {
    return std::unexpected(not_sealed());
  }
  return text;
}

}  // namespace kedge::server
