// One Event of event.proto and summary.proto, without its frame.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "exchange/event_file.h"

namespace kedge::exchange {

// What a file has said so far, which later events rely on.
struct EventContext {
  std::map<std::string, std::string>& plugin_of_tag;
  std::map<std::string, std::uint64_t>& skipped;
};

// Nothing when it is no such message. An event about something else has no values.
std::optional<Event> parse_event(std::string_view message, EventContext context);

std::string render_event(const Event& event);

// The first event of every file.
std::string render_version(std::int64_t time_us);

}  // namespace kedge::exchange
