// How the wire writes bytes and identities as text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "core/time_text.h"
#include "store/run.h"

namespace kedge::wandb {

// The MD5 of a file or of bytes, in base64, as clients name contents.
Result<std::string> md5_of_file(const Path& path);
std::string md5_of(std::string_view bytes);

std::string hmac_sha256_hex(std::string_view key, std::string_view message);

// Opaque ids: base64 of "Run:v1:ID:ENTITY:PROJECT".
struct RunId {
  store::RunKey key;
  std::string entity;
};

std::string render_id(const RunId& run);
std::optional<RunId> parse_run_id(std::string_view id);

// base64 of "Project:NAME" and the like.
std::string render_id(std::string_view type, std::string_view name);
std::optional<std::string> parse_id(std::string_view type, std::string_view id);

// Also with fractions and offsets; nothing for anything else.
std::optional<std::int64_t> parse_time(std::string_view text);

}  // namespace kedge::wandb
