#include "core/time_text.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>

#include <fmt/format.h>

namespace kedge {
namespace {

std::string render_seconds(std::int64_t unix_seconds) {
  const std::time_t seconds = unix_seconds;
  std::tm parts = {};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text = {};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return text.data();
}

}  // namespace

std::string render_time(std::int64_t time_us) {
  return render_seconds(time_us / 1'000'000) + "Z";
}

std::string render_time_ms(std::int64_t time_ms) {
  return fmt::format("{}.{:03}Z", render_seconds(time_ms / 1000), time_ms % 1000);
}

std::string utc_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return render_time(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

}  // namespace kedge
