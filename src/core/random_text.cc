#include "core/random_text.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <sys/random.h>

#include "core/hex.h"
#include "core/result.h"

namespace kedge {
namespace {

std::string make_random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  KEDGE_CHECK(::getrandom(bytes.data(), count, 0) == static_cast<ssize_t>(count),
              "the kernel gives no random bytes");
  return bytes;
}

}  // namespace

std::string make_random_hex(std::size_t bytes) {
  return render_hex(make_random_bytes(bytes));
}

std::string make_random_word(std::size_t letters) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  constexpr std::size_t kFair = 256 / kLetters.size() * kLetters.size();  // above: some more often
  std::string word;
  while (word.size() < letters) {
    for (const char c : make_random_bytes(letters)) {
      const std::size_t byte = static_cast<unsigned char>(c);
      if (byte < kFair && word.size() < letters) {
        word += kLetters[byte % kLetters.size()];
      }
    }
  }
  return word;
}

}  // namespace kedge
