#include "track/names.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <random>
#include <string>
#include <string_view>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "core/random.h"
#include "core/result.h"

namespace kedge::track {
namespace {

constexpr std::size_t kMaxNameBytes = 128;

constexpr std::array<std::string_view, 48> kAdjectives = {
    "amber",    "bold",    "brave",  "bright", "brisk",   "calm",  "clear",  "clever",
    "coastal",  "cosy",    "crisp",  "deep",   "distant", "eager", "early",  "fair",
    "firm",     "fresh",   "gentle", "golden", "happy",   "hardy", "hidden", "keen",
    "kind",     "light",   "lively", "lucky",  "mellow",  "misty", "nimble", "noble",
    "northern", "patient", "plain",  "proud",  "quick",   "quiet", "rapid",  "ready",
    "silver",   "smooth",  "snug",   "steady", "still",   "swift", "warm",   "wise"};

constexpr std::array<std::string_view, 48> kNouns = {
    "anchor",  "bay",   "beacon",  "bell",  "breeze", "brook",   "buoy",    "cape",
    "channel", "cliff", "cloud",   "coast", "comet",  "compass", "coral",   "cove",
    "current", "delta", "dolphin", "dune",  "ferry",  "fjord",   "gull",    "harbour",
    "heron",   "inlet", "island",  "keel",  "kelp",   "lagoon",  "lantern", "lighthouse",
    "meadow",  "moon",  "mooring", "oar",   "otter",  "pearl",   "pier",    "reef",
    "river",   "sail",  "seal",    "shoal", "spray",  "star",    "tide",    "wharf"};

// Without 0, 1, i, l, o and u, which people confuse or turn into words.
constexpr std::string_view kLetters = "23456789abcdefghjkmnpqrstvwxyz";

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

Random make_random() {
  std::random_device device;
  return Random({device(), device()});
}

}  // namespace

std::string make_run_id(std::int64_t unix_seconds, Random& random) {
  std::string id =
      fmt::format("{:%Y%m%d-%H%M%S}-", fmt::gmtime(static_cast<std::time_t>(unix_seconds)));
  for (int i = 0; i < 6; ++i) {
    id += kLetters[random.below(kLetters.size())];
  }
  return id;
}

std::string make_run_name(Random& random) {
  const std::string_view adjective = kAdjectives[random.below(kAdjectives.size())];
  const std::string_view noun = kNouns[random.below(kNouns.size())];
  return fmt::format("{}-{}-{}", adjective, noun, 1 + random.below(99));
}

std::string make_run_id(std::int64_t unix_seconds) {
  Random random = make_random();
  return make_run_id(unix_seconds, random);
}

std::string make_run_name() {
  Random random = make_random();
  return make_run_name(random);
}

Result<void> check_folder_name(std::string_view what, std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes || name.front() == '.' || name.front() == '-' ||
      !std::ranges::all_of(name, is_plain)) {
    return fail(ErrorKind::Usage, fmt::format("{} '{}' cannot be a folder's name", what, name),
                fmt::format("use up to {} letters, digits, dots, dashes and underscores, beginning "
                            "with a letter or digit",
                            kMaxNameBytes));
  }
  return {};
}

std::string make_file_name(std::string_view name) {
  std::string safe;
  for (const char c : name.substr(0, kMaxNameBytes)) {
    safe += is_plain(c) ? c : '-';
  }
  while (!safe.empty() && (safe.front() == '.' || safe.front() == '-')) {
    safe.erase(0, 1);
  }
  return safe.empty() ? "image" : safe;
}

}  // namespace kedge::track
