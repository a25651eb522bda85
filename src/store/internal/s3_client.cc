#include "store/internal/s3_client.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <thread>

#include <fmt/format.h>

#include "core/url.h"

namespace kedge::store {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Error wrong_address(const std::string& address, std::string_view what) {
  return {ErrorKind::Usage, fmt::format("'{}': {}", address, what),
          "an S3 address is s3://BUCKET/PREFIX?endpoint=https://HOST&region=NAME"};
}

std::string decode_entities(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, char>, 6> kEntities = {{
      {"&amp;", '&'},
      {"&lt;", '<'},
      {"&gt;", '>'},
      {"&quot;", '"'},
      {"&#34;", '"'},
      {"&apos;", '\''},
  }};
  std::string decoded;
  while (!text.empty()) {
    const auto* entity =
        std::ranges::find_if(kEntities, [&](const auto& e) { return text.starts_with(e.first); });
    const bool is_entity = entity != kEntities.end();
    decoded += is_entity ? entity->second : text[0];
    text.remove_prefix(is_entity ? entity->first.size() : 1);
  }
  return decoded;
}

Result<void> set_option(S3Place& place, const std::string& address, std::string_view option) {
  const auto equals = option.find('=');
  const std::string_view name = option.substr(0, equals);
  const auto value =
      decode_url_part(equals == std::string_view::npos ? "" : option.substr(equals + 1));
  if (!value || value->empty()) {
    return std::unexpected(wrong_address(address, fmt::format("'{}' has no value", name)));
  }
  if (name == "endpoint") {
    place.endpoint = *value;
  } else if (name == "region") {
    place.region = *value;
  } else {
    return std::unexpected(wrong_address(address, fmt::format("unknown option '{}'", name)));
  }
  return {};
}

// Amazon's own hosts have the bucket in front; other servers take it as the first folder.
std::string origin_of(const S3Place& place) {
  if (place.endpoint.empty()) {
    return fmt::format("https://{}.s3.{}.amazonaws.com", place.bucket, place.region);
  }
  return fmt::format("{}/{}", place.endpoint, encode_url_part(place.bucket));
}

}  // namespace

std::optional<std::string> decode_url_part(std::string_view text) {
  std::string decoded;
  while (!text.empty()) {
    if (text[0] != '%') {
      decoded += text[0];
      text.remove_prefix(1);
      continue;
    }
    unsigned code = 0;
    if (text.size() < 3 ||
        std::from_chars(text.data() + 1, text.data() + 3, code, 16).ptr != text.data() + 3) {
      return std::nullopt;
    }
    decoded += static_cast<char>(code);
    text.remove_prefix(3);
  }
  return decoded;
}

std::vector<std::string> xml_texts(std::string_view xml, std::string_view name) {
  const std::string open = fmt::format("<{}>", name);
  const std::string close = fmt::format("</{}>", name);
  std::vector<std::string> texts;
  for (auto at = xml.find(open); at != std::string_view::npos; at = xml.find(open, at)) {
    at += open.size();
    const auto end = xml.find(close, at);
    if (end == std::string_view::npos) {
      break;
    }
    texts.push_back(decode_entities(xml.substr(at, end - at)));
  }
  return texts;
}

Result<S3Place> parse_s3_address(const std::string& address) {
  std::string_view rest = address;
  rest.remove_prefix(std::string_view("s3://").size());
  const auto question = rest.find('?');
  const std::string_view path = rest.substr(0, question);
  const auto slash = path.find('/');
  S3Place place{.bucket = std::string(path.substr(0, slash)), .prefix = {}, .endpoint = {}};
  if (place.bucket.empty()) {
    return std::unexpected(wrong_address(address, "no bucket is named"));
  }
  if (slash != std::string_view::npos) {
    place.prefix = path.substr(slash + 1);
    if (!place.prefix.empty() && !place.prefix.ends_with('/')) {
      place.prefix += '/';
    }
  }
  if (const std::string region = environment("AWS_REGION"); !region.empty()) {
    place.region = region;
  }
  place.endpoint = environment("AWS_ENDPOINT_URL");
  std::string_view options = question == std::string_view::npos ? "" : rest.substr(question + 1);
  while (!options.empty()) {
    const std::string_view option = options.substr(0, options.find('&'));
    KEDGE_TRY(set_option(place, address, option));
    options.remove_prefix(std::min(options.size(), option.size() + 1));
  }
  while (place.endpoint.ends_with('/')) {
    place.endpoint.pop_back();
  }
  return place;
}

Result<AwsSigning> read_s3_keys(const S3Place& place) {
  AwsSigning keys{.region = place.region,
                  .access_key = environment("AWS_ACCESS_KEY_ID"),
                  .secret_key = environment("AWS_SECRET_ACCESS_KEY"),
                  .session_token = environment("AWS_SESSION_TOKEN")};
  if (keys.access_key.empty() || keys.secret_key.empty()) {
    return fail(ErrorKind::Usage, "S3 needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
                "set both in the environment of this program");
  }
  return keys;
}

std::string S3Client::url_of(const S3Request& request) const {
  std::string url = origin_of(place_);
  if (request.key.empty()) {
    url += '/';
  } else {
    url += '/' + encode_url_path(place_.prefix + request.key);
  }
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    url += fmt::format("{}{}={}", separator, name, encode_url_part(value));
    separator = '&';
  }
  return url;
}

Result<HttpClient> S3Client::take_client() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      HttpClient client = std::move(idle_.back());
      idle_.pop_back();
      return client;
    }
  }
  return HttpClient::make();
}

void S3Client::give_back(HttpClient client) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(client));
}

Result<HttpResponse> S3Client::send(const S3Request& request) {
  HttpClient client = KEDGE_TRY(take_client());
  bool has_begun = false;  // what the sink was given cannot be taken back
  HttpRequest http{.method = request.method,
                   .url = url_of(request),
                   .headers = request.headers,
                   .body = request.body,
                   .body_file = request.file,
                   .aws = keys_};
  if (request.on_body) {
    http.on_body = [&](std::string_view bytes) {
      has_begun = true;
      return request.on_body(bytes);
    };
  }
  constexpr auto kFirstPause = std::chrono::milliseconds(100);
  auto pause = kFirstPause;
  for (int attempt = 1;; ++attempt) {
    Result<HttpResponse> response = client.send(http);
    const bool is_worth_repeating = response ? response->status >= 500 || response->status == 429
                                             : response.error().kind == ErrorKind::Unavailable;
    if (!is_worth_repeating || has_begun || attempt >= attempts_) {
      give_back(std::move(client));
      if (response && response->status >= 500) {
        return std::unexpected(error_of(request, *response));
      }
      return response;
    }
    std::this_thread::sleep_for(pause);
    pause *= 2;
  }
}

Error S3Client::error_of(const S3Request& request, const HttpResponse& response) const {
  const auto first = [&](std::string_view name) {
    const auto texts = xml_texts(response.body, name);
    return texts.empty() ? std::string() : texts[0];
  };
  std::string message = fmt::format("S3 answers {} to {} s3://{}/{}{}", response.status,
                                    request.method, place_.bucket, place_.prefix, request.key);
  if (const std::string code = first("Code"); !code.empty()) {
    message += fmt::format(": {} ({})", code, first("Message"));
  }
  const bool is_denied = response.status == 403 || response.status == 401;
  return {response.status >= 500 ? ErrorKind::Unavailable : ErrorKind::Io, message,
          is_denied ? "look at the keys and at what they may do in this bucket" : ""};
}

}  // namespace kedge::store
