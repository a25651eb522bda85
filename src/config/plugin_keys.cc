#include "config/plugin_keys.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/nearest.h"

namespace kedge::config {
namespace {

const Field& field_of(const LoadedConfig& config, const PluginKeys& keys, std::string_view key) {
  const Field* field = config.find(fmt::format("{}.{}", keys.section, key));
  KEDGE_CHECK(field != nullptr, "plug-ins name keys of their section");
  return *field;
}

}  // namespace

std::vector<UnreadKey> find_unread_keys(const LoadedConfig& config, const PluginKeys& keys) {
  const Layer choice = field_of(config, keys, keys.chosen_by).layer;
  std::vector<UnreadKey> unread;
  for (const auto& [key, readers] : keys.readers) {
    const Field& field = field_of(config, keys, key);
    const bool is_overruled = field.layer < choice;
    if (keys.read.contains(key) || !is_written(field) || (is_overruled && choice == Layer::Sweep)) {
      continue;
    }
    const auto others = by_nearness(key, {keys.read.begin(), keys.read.end()});
    const std::string instead = others.empty()
                                    ? "it has no keys of its own"
                                    : fmt::format("did you mean {}?", fmt::join(others, ", "));
    unread.push_back(
        {.path = field.path,
         .message = fmt::format("{}: {}: {} does not read it{}", field.origin, field.path,
                                keys.chosen, is_overruled ? "" : "; " + instead),
         .readers = readers,
         .is_overruled = is_overruled});
  }
  return unread;
}

Result<void> refuse_unread_keys(std::vector<UnreadKey> unread) {
  std::erase_if(unread, &UnreadKey::is_overruled);
  if (unread.empty()) {
    return {};
  }
  std::vector<std::string> messages;
  std::ranges::transform(unread, std::back_inserter(messages), &UnreadKey::message);
  return fail(ErrorKind::Usage, fmt::format("{}", fmt::join(messages, "\n")),
              unread.size() > 1 ? "leave them out, or choose what reads them"
                                : fmt::format("leave it out, or choose what reads it: {}",
                                              fmt::join(unread.front().readers, ", ")));
}

}  // namespace kedge::config
