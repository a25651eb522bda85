#include "http/http.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kedge::http {
namespace {

struct StatusName {
  int status;
  std::string_view code;
};

constexpr auto kStatusNames = std::to_array<StatusName>({
    {400, "bad_request"}, {401, "unauthorized"},       {403, "forbidden"},
    {404, "not_found"},   {405, "method_not_allowed"}, {408, "timeout"},
    {409, "conflict"},    {413, "too_large"},          {414, "too_large"},
    {415, "unsupported"}, {416, "bad_range"},          {421, "wrong_host"},
    {422, "invalid"},     {429, "too_many"},           {431, "too_large"},
    {500, "internal"},    {501, "unsupported"},        {503, "unavailable"},
    {507, "full"},
});

struct ContentType {
  std::string_view ending;
  std::string_view type;
};

constexpr auto kContentTypes = std::to_array<ContentType>({
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".json", "application/json"},
    {".map", "application/json"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".jpg", "image/jpeg"},
    {".jpeg", "image/jpeg"},
    {".gif", "image/gif"},
    {".webp", "image/webp"},
    {".ico", "image/x-icon"},
    {".woff2", "font/woff2"},
    {".txt", "text/plain; charset=utf-8"},
    {".log", "text/plain; charset=utf-8"},
    {".md", "text/plain; charset=utf-8"},
    {".yaml", "text/plain; charset=utf-8"},
    {".csv", "text/csv; charset=utf-8"},
    {".mp4", "video/mp4"},
    {".wav", "audio/wav"},
});

struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return is_whole ? std::optional(value) : std::nullopt;
}

enum class RangeKind : std::uint8_t { None, Part, Outside };

// Only one range, as browsers and resumed downloads send it; RFC 9110 lets a server give the whole
// for any other.
std::pair<RangeKind, ByteRange> parse_range(std::string_view text, std::uint64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  if (!text.starts_with(kUnit) || text.find(',') != std::string_view::npos) {
    return {RangeKind::None, {}};
  }
  text.remove_prefix(kUnit.size());
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) {
    return {RangeKind::None, {}};
  }
  const auto first = parse_count(text.substr(0, dash));
  const auto last = parse_count(text.substr(dash + 1));
  if (dash == 0) {
    if (!last) {
      return {RangeKind::None, {}};
    }
    const bool is_empty = *last == 0 || size == 0;
    return {is_empty ? RangeKind::Outside : RangeKind::Part,
            {.first = size - std::min(size, *last), .last = size - 1}};
  }
  if (!first || (!last && dash + 1 != text.size()) || (last && *last < *first)) {
    return {RangeKind::None, {}};
  }
  return {*first < size ? RangeKind::Part : RangeKind::Outside,
          {.first = *first, .last = std::min(last.value_or(size - 1), size - 1)}};
}

}  // namespace

std::string_view name_of(Method method) {
  constexpr std::array<std::string_view, 5> kNames = {"GET", "POST", "PUT", "PATCH", "DELETE"};
  return kNames.at(static_cast<std::size_t>(method));
}

void Headers::add(std::string name, std::string value) {
  std::erase_if(value, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
  entries_.emplace_back(std::move(name), std::move(value));
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
  const auto found =
      std::ranges::find_if(entries_, [&](const auto& entry) { return entry.first == name; });
  return found == entries_.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

const std::string& Request::parameter(std::string_view name) const {
  const auto found =
      std::ranges::find_if(parameters, [&](const auto& entry) { return entry.first == name; });
  KEDGE_CHECK(found != parameters.end(), "a handler asks for what its route does not have");
  return found->second;
}

std::optional<std::string_view> Request::query_value(std::string_view name) const {
  const auto found =
      std::ranges::find_if(query, [&](const auto& entry) { return entry.first == name; });
  return found == query.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

Result<std::int64_t> Request::query_number(std::string_view name, std::int64_t fallback) const {
  const auto text = query_value(name);
  if (!text) {
    return fallback;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) {
    return fail(ErrorKind::Usage, fmt::format("{} must be a whole number, not '{}'", name, *text));
  }
  return value;
}

Response json_response(std::string body, int status) {
  Response response{.status = status, .body = std::move(body)};
  response.headers.add("Content-Type", "application/json");
  return response;
}

Response error_response(int status, std::string_view message, std::string_view hint) {
  const auto found = std::ranges::find(kStatusNames, status, &StatusName::status);
  KEDGE_CHECK(found != kStatusNames.end(), "an error needs a status of the list");
  nlohmann::json error = {{"code", found->code}, {"message", message}};
  if (!hint.empty()) {
    error["hint"] = hint;
  }
  Response response = json_response(nlohmann::json{{"error", error}}.dump(
                                        -1, ' ', false, nlohmann::json::error_handler_t::replace),
                                    status);
  response.refusal = Refusal{std::string(message), std::string(hint)};
  if (status == 503) {
    response.headers.add("Retry-After", "1");
  }
  return response;
}

Response error_response(const Error& error) {
  switch (error.kind) {
    case ErrorKind::Usage:
      return error_response(400, error.message, error.hint);
    case ErrorKind::NotFound:
      return error_response(404, error.message, error.hint);
    case ErrorKind::Corrupt:
      return error_response(422, error.message, error.hint);
    case ErrorKind::Unavailable:
    case ErrorKind::Interrupted:
      return error_response(503, error.message, error.hint);
    case ErrorKind::Io:
      break;
  }
  // What io_error() and SQLite say; both come from ENOSPC.
  const bool is_full = error.message.find("No space left") != std::string::npos ||
                       error.message.find("disk is full") != std::string::npos;
  return error_response(is_full ? 507 : 500, error.message, error.hint);
}

bool is_not_modified(const Request& request, std::string_view etag) {
  const auto wanted = request.headers.find("if-none-match");
  return wanted &&
         (*wanted == "*" || wanted->find(fmt::format("\"{}\"", etag)) != std::string_view::npos);
}

namespace {

void set_body(Response& response, const FileAnswer& answer, std::uint64_t offset,
              std::uint64_t size) {
  if (answer.produce) {
    response.body = answer.produce(offset, size);
    response.headers.add("Content-Length", std::to_string(size));
  } else {
    response.body = FileBody{answer.file, offset, size};
  }
}

}  // namespace

Response file_response(const Request& request, const FileAnswer& answer) {
  Response response;
  const std::string tag = fmt::format("\"{}\"", answer.etag);
  response.headers.add("ETag", tag);
  response.headers.add("Accept-Ranges", "bytes");
  if (is_not_modified(request, answer.etag)) {
    response.status = 304;
    return response;
  }
  response.headers.add("Content-Type", answer.content_type);
  auto range = std::pair<RangeKind, ByteRange>{};
  const auto if_range = request.headers.find("if-range");
  if (const auto wanted = request.headers.find("range");
      wanted && (!if_range || *if_range == tag)) {
    range = parse_range(*wanted, answer.size);
  }
  switch (range.first) {
    case RangeKind::None:
      set_body(response, answer, 0, answer.size);
      return response;
    case RangeKind::Part:
      response.status = 206;
      response.headers.add("Content-Range", fmt::format("bytes {}-{}/{}", range.second.first,
                                                        range.second.last, answer.size));
      set_body(response, answer, range.second.first, range.second.last - range.second.first + 1);
      return response;
    case RangeKind::Outside:
      break;
  }
  Response outside = error_response(416, fmt::format("the file has {} bytes", answer.size));
  outside.headers.add("Content-Range", fmt::format("bytes */{}", answer.size));
  return outside;
}

std::string_view content_type_of(std::string_view path) {
  const auto found = std::ranges::find_if(
      kContentTypes, [&](const ContentType& entry) { return path.ends_with(entry.ending); });
  return found == kContentTypes.end() ? "application/octet-stream" : found->type;
}

}  // namespace kedge::http
