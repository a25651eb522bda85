// --host, --port, --tls-cert and --tls-key of the verbs that listen.
#pragma once

#include <cstdint>

#include "cli/shared/arguments.h"
#include "core/result.h"
#include "http/listener.h"

namespace kedge::cli {

// Usage: no port, or a certificate without its key.
Result<http::ListenOptions> listen_options(const Arguments& arguments, std::int64_t default_port);

}  // namespace kedge::cli
