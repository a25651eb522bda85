// Times as text: UTC, as ISO 8601 writes it.
#pragma once

#include <cstdint>
#include <string>

namespace kedge {

std::string render_time(std::int64_t time_us);     // "2026-01-31T12:00:00Z" of Unix microseconds
std::string render_time_ms(std::int64_t time_ms);  // "2026-01-31T12:00:00.250Z" of milliseconds
std::string utc_now();                             // as render_time()

}  // namespace kedge
