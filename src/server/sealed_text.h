// Texts that a database may hold and not tell: sealed with a passphrase that is not in it. AES-256
// in GCM, under a key that scrypt makes of the passphrase and a salt of the text's own.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace kedge::server {

// `about` is not in the sealed text, and must be the same when it is opened: whose it is.
Result<std::string> seal_text(std::string_view text, std::string_view passphrase,
                              std::string_view about);

// Corrupt when the passphrase or `about` is another one, or a byte was changed.
Result<std::string> open_text(std::string_view sealed, std::string_view passphrase,
                              std::string_view about);

}  // namespace kedge::server
