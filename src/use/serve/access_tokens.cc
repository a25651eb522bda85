#include "use/serve/access_tokens.h"

#include <cerrno>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/file_digest.h"
#include "http/listener.h"
#include "use/serve/api_error.h"

namespace kedge::use {
namespace {

// "localhost:8000", "[::1]:8000" without the port.
std::string_view host_name(std::string_view host) {
  if (host.starts_with('[')) {
    return host.substr(1, host.find(']') - 1);
  }
  return host.substr(0, host.find(':'));
}

}  // namespace

Result<AccessTokens> AccessTokens::load(const Path& file) {
  struct stat facts = {};
  if (::stat(file.c_str(), &facts) != 0) {
    return std::unexpected(io_error("cannot read", file, errno));
  }
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return fail(ErrorKind::Usage, fmt::format("others may read the tokens in {}", file.string()),
                fmt::format("chmod 600 {}", file.string()));
  }
  std::istringstream lines(KEDGE_TRY(read_file(file)));
  AccessTokens tokens;
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, line.find('\r'));
    if (line.find_first_of(" \t") != std::string::npos) {
      return fail(ErrorKind::Usage,
                  fmt::format("a line of {} is no token: it has a blank", file.string()));
    }
    if (!line.empty()) {
      tokens.digests_.insert(sha256_of(line));
    }
  }
  if (tokens.digests_.empty()) {
    return fail(ErrorKind::Usage, fmt::format("{} holds no token", file.string()),
                "write one a line, e.g. `openssl rand -hex 32`");
  }
  return tokens;
}

std::optional<http::Response> AccessTokens::check(const http::Request& request,
                                                  const http::Route* route) const {
  if (digests_.empty()) {
    // A page of another site may be given an address of this machine by its own name server.
    const std::string_view host = host_name(request.headers.find("host").value_or("localhost"));
    return http::is_loopback(host)
               ? std::nullopt
               : std::optional(error_answer(
                     {.status = 421, .message = fmt::format("this server is not '{}'", host)}));
  }
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view sent = request.headers.find("authorization").value_or("");
  const bool is_open = route != nullptr && route->options.role == http::Role::None;
  if (is_open ||
      (sent.starts_with(kScheme) && digests_.contains(sha256_of(sent.substr(kScheme.size()))))) {
    return std::nullopt;
  }
  return error_answer({.status = 401,
                       .message = sent.empty() ? "a token is needed: Authorization: Bearer TOKEN"
                                               : "the token is not valid",
                       .code = "invalid_api_key"});
}

}  // namespace kedge::use
