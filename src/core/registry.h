// A Registry<Plugin> lists every implementation of one plug-in point, by name.
//
// Each implementation's .cc file holds one static Add; no shared file is edited.
// Plug-in folders must be built as CMake OBJECT libraries: a linker drops
// self-registering objects from a static library because nothing refers to them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/nearest.h"
#include "core/result.h"

namespace kedge {

template <typename Plugin, typename... Args>
class Registry {
 public:
  struct Entry {
    std::string_view name;
    std::string_view summary;  // the doc line: `kedge list` and the reference page print it
    std::function<Result<std::unique_ptr<Plugin>>(const Args&...)> make;
    // Keys of its config section that it reads and not every plug-in of its kind does. Who writes
    // one of them and chooses a plug-in that does not list it has made a mistake
    // (config/plugin_keys.h). What no plug-in lists is common to all.
    std::vector<std::string_view> reads = {};
  };

  struct Add {
    explicit Add(Entry entry) { entries().emplace(entry.name, std::move(entry)); }
  };

  static const std::map<std::string_view, Entry>& all() { return entries(); }

  // `kind` is the word for the plug-in in messages: "model", "optimizer".
  static Result<std::unique_ptr<Plugin>> make(std::string_view kind, const std::string& name,
                                              const Args&... args) {
    const auto found = entries().find(name);
    if (found == entries().end()) {
      std::vector<std::string> names;
      for (const auto& [known, entry] : entries()) {
        names.emplace_back(known);
      }
      return std::unexpected(unknown_name(kind, name, names));
    }
    return found->second.make(args...);
  }

 private:
  static std::map<std::string_view, Entry>& entries() {
    static std::map<std::string_view, Entry> map;
    return map;
  }
};

}  // namespace kedge
