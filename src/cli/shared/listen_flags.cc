#include "cli/shared/listen_flags.h"

#include <fmt/format.h>

namespace kedge::cli {

Result<http::ListenOptions> listen_options(const Arguments& arguments, std::int64_t default_port) {
  http::ListenOptions listen;
  listen.host = arguments.value("--host", listen.host);
  const std::int64_t port = KEDGE_TRY(arguments.number("--port", default_port));
  if (port < 0 || port > 65535) {
    return fail(ErrorKind::Usage, fmt::format("{} is no port: 0 to 65535 are", port));
  }
  listen.port = static_cast<int>(port);
  if (arguments.has("--tls-cert") != arguments.has("--tls-key")) {
    return fail(ErrorKind::Usage, "--tls-cert and --tls-key belong together");
  }
  if (arguments.has("--tls-cert")) {
    listen.tls = http::TlsFiles{arguments.value("--tls-cert"), arguments.value("--tls-key")};
  }
  return listen;
}

}  // namespace kedge::cli
