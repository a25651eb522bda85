#include "wandb/internal/call.h"

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/access.h"
#include "server/answer_limit.h"

namespace kedge::wandb {
namespace {

constexpr std::int64_t kLinkLife_us = 24LL * 3600 * 1'000'000;

// The last part of a path, with what an address cannot hold left out: it is for people.
std::string file_name(std::string_view path) {
  const auto slash = path.rfind('/');
  std::string name;
  for (const char c : path.substr(slash == std::string_view::npos ? 0 : slash + 1)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    name += is_plain ? c : '_';
  }
  return name.empty() || name.starts_with('.') ? "file" + name : name;
}

}  // namespace

std::string Call::viewer() const {
  return request.caller.name.empty() ? "kedge" : request.caller.name;
}

std::string Call::entity_or_viewer(const std::optional<std::string>& asked) const {
  return asked && !asked->empty() ? *asked : viewer();
}

Result<void> Call::count_answer(std::size_t bytes) const {
  answer_bytes += bytes;
  return server::check_answer(
      answer_bytes, "ask for fewer samples, keys or runs, or page by minStep and maxStep");
}

Result<void> Call::check(const std::string& project, const std::string& run) const {
  return server::check_project(request.caller, project, run);
}

std::string Call::base_url() const {
  const auto forwarded = request.headers.find("x-forwarded-proto");
  const std::string_view scheme = forwarded           ? *forwarded
                                  : request.is_secure ? std::string_view("https")
                                                      : std::string_view("http");
  return fmt::format("{}://{}", scheme, request.headers.find("host").value_or("localhost"));
}

std::string Call::signed_url(const nlohmann::json& meaning, const std::string& name) const {
  return fmt::format("{}/wandb/bytes/{}/{}", base_url(),
                     links.sign(meaning, now_us() + kLinkLife_us), file_name(name));
}

}  // namespace kedge::wandb
