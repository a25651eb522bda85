#include "use/internal/row_origin.h"

#include <filesystem>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "core/log.h"

namespace kedge::use {
namespace {

Result<nlohmann::json> describe(const RowOrigin& origin) {
  // The manifest holds the hashes of all tensors, so its own hash names the checkpoint's content.
  Digest digest;
  digest.add(KEDGE_TRY(read_file(origin.checkpoint / "manifest.json")));
  return nlohmann::json{{"checkpoint", origin.checkpoint.string()},
                        {"digest", digest.text()},
                        {"top_k", origin.top_k}};
}

Result<void> compare(const Path& output, const nlohmann::json& written, const nlohmann::json& now) {
  constexpr const char* kHint = "choose another output, or remove it";
  if (written.value("digest", nlohmann::json()) != now["digest"]) {
    return fail(ErrorKind::Usage,
                fmt::format("{} holds predictions of another checkpoint ({})", output.string(),
                            written.value("checkpoint", nlohmann::json("unknown")).dump()),
                kHint);
  }
  if (written.value("top_k", nlohmann::json()) != now["top_k"]) {
    return fail(ErrorKind::Usage,
                fmt::format("{} was made with --top-k {}", output.string(),
                            written.value("top_k", nlohmann::json()).dump()),
                kHint);
  }
  return {};
}

}  // namespace

Result<void> claim_rows(const Path& output, const RowOrigin& origin, bool has_rows) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(output, error)) {
    return {};  // a pipe, a terminal
  }
  const Path path = output.string() + ".origin.json";
  const nlohmann::json now = KEDGE_TRY(describe(origin));
  if (has_rows) {
    const auto text = read_file(path);
    const nlohmann::json written =
        text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
    if (written.is_object()) {
      return compare(output, written, now);
    }
    warn("{} does not say which model made the rows in {}; they are taken for this one's",
         path.string(), output.string());
  }
  return write_file_atomic(path, now.dump() + "\n");
}

}  // namespace kedge::use
