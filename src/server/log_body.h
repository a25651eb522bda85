// Reads what a client logs without building a document of it: this is the server's hottest path.
#pragma once

#include <string_view>
#include <vector>

#include "core/result.h"
#include "store/series.h"

namespace kedge::server {

// {"points": [{"key", "step", "value", "time_us"?, "kind"?}], "epoch"?}, or
// {"step", "time_us"?, "epoch"?, "values": {key: value}}. A value is a number, a truth value or one
// of "NaN", "Infinity", "-Infinity". "epoch" is logged as a metric of that name.
// Usage errors name what is wrong and where.
Result<std::vector<store::LogPoint>> parse_log(std::string_view text);

}  // namespace kedge::server
