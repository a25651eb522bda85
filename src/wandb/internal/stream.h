// file_stream: what a running client sends every few seconds. Lines are named by their numbers, so
// that a request that is sent again changes nothing.
#pragma once

#include "core/result.h"
#include "http/http.h"
#include "wandb/internal/call.h"

namespace kedge::wandb {

// POST /files/{entity}/{project}/{run}/file_stream.
Result<http::Response> take_stream(const Call& call);

// A line of output.log as it is on the wire: plain with a time before it, or an object.
store::ConsoleLine parse_console_line(const std::string& line, std::int64_t now_us);

}  // namespace kedge::wandb
