#include "wandb/internal/encoding.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/base64.h"
#include "core/file_digest.h"
#include "core/hash.h"
#include "core/hex.h"
#include "core/md5.h"

namespace kedge::wandb {
namespace {

std::string render(const std::array<std::uint8_t, 16>& digest) {
  return encode_base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace

Result<std::string> md5_of_file(const Path& path) {
  const OwnedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    return std::unexpected(io_error("cannot open", path, errno));
  }
  Md5 md5;
  std::vector<std::uint8_t> piece(1U << 20U);
  while (true) {
    const ssize_t count = ::read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno != EINTR) {
      return std::unexpected(io_error("cannot read", path, errno));
    }
    if (count == 0) {
      return render(md5.finish());
    }
    md5.add({piece.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))});
  }
}

std::string md5_of(std::string_view bytes) {
  Md5 md5;
  md5.add(as_bytes(bytes));
  return render(md5.finish());
}

std::string hmac_sha256_hex(std::string_view key, std::string_view message) {
  constexpr std::size_t kBlock = 64;
  std::string inner(key.size() > kBlock ? *parse_hex(sha256_of(key)) : std::string(key));
  inner.resize(kBlock);
  std::string outer = inner;
  for (std::size_t i = 0; i < kBlock; ++i) {
    inner[i] = static_cast<char>(inner[i] ^ 0x36);
    outer[i] = static_cast<char>(outer[i] ^ 0x5c);
  }
  inner += message;
  return sha256_of(outer + *parse_hex(sha256_of(inner)));
}

std::string render_id(const RunId& run) {
  return encode_base64(fmt::format("Run:v1:{}:{}:{}", run.key.id, run.entity, run.key.project));
}

std::optional<RunId> parse_run_id(std::string_view id) {
  const auto text = parse_id("Run", id);
  if (!text || !text->starts_with("v1:")) {
    return std::nullopt;
  }
  const std::string rest = text->substr(3);
  const auto first = rest.find(':');
  const auto second = rest.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) {
    return std::nullopt;
  }
  return RunId{.key = {rest.substr(second + 1), rest.substr(0, first)},
               .entity = rest.substr(first + 1, second - first - 1)};
}

std::string render_id(std::string_view type, std::string_view name) {
  return encode_base64(fmt::format("{}:{}", type, name));
}

std::optional<std::string> parse_id(std::string_view type, std::string_view id) {
  const auto text = decode_base64(id);
  if (!text || !text->starts_with(std::string(type) + ":")) {
    return std::nullopt;
  }
  return text->substr(type.size() + 1);
}

std::optional<std::int64_t> parse_time(std::string_view text) {
  std::tm parts = {};
  const std::string whole(text);
  const char* rest = ::strptime(whole.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) {
    parts = {};
    rest = ::strptime(whole.c_str(), "%Y-%m-%d", &parts);
  }
  if (rest == nullptr) {
    return std::nullopt;
  }
  std::int64_t time_us = ::timegm(&parts) * 1'000'000LL;
  if (*rest == '.') {
    std::int64_t unit = 100'000;
    for (++rest; *rest >= '0' && *rest <= '9'; ++rest, unit /= 10) {
      time_us += (*rest - '0') * unit;
    }
  }
  int hours = 0;
  int minutes = 0;
  if ((*rest == '+' || *rest == '-') && std::sscanf(rest + 1, "%2d:%2d", &hours, &minutes) == 2) {
    const std::int64_t offset_us = (hours * 60LL + minutes) * 60'000'000;
    return time_us - (*rest == '+' ? offset_us : -offset_us);
  }
  return *rest == '\0' || *rest == 'Z' ? std::optional(time_us) : std::nullopt;
}

}  // namespace kedge::wandb
