// Bytes by the names that the wire has for them: MD5s, signed addresses.
#pragma once

#include <optional>
#include <string>

#include "core/result.h"
#include "http/http.h"
#include "store/blobs.h"
#include "store/run.h"
#include "wandb/internal/call.h"

namespace kedge::wandb {

// The MD5 of a blob in base64. Blobs that came over the wire have theirs written down; of others it
// is taken, and written down, when it is first asked for.
Result<std::string> find_md5(const Call& call, const std::string& digest);

// The body of a PUT as a blob, its MD5 written down. `expected_md5` may be empty. Corrupt when the
// bytes are others.
Result<store::StoredBlob> take_bytes(const Call& call, const std::string& expected_md5);

// The run has no such file any more; its bytes go when nothing else holds them.
Result<void> unbind_file(const Call& call, const store::RunKey& key, const std::string& path);

// PUT and GET of a signed address.
Result<http::Response> put_signed(const Call& call);
Result<http::Response> get_signed(const Call& call);

// GET of a file of a project's artifacts by its MD5 in hex ({project}, {digest}).
Result<http::Response> get_by_digest(const Call& call);

}  // namespace kedge::wandb
