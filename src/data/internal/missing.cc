#include "data/internal/missing.h"

#include <algorithm>

#include <fmt/format.h>

#include "data/get.h"

namespace kedge::data {

Error missing_data(const config::DataConfig& config, const std::string& what) {
  const std::string message = fmt::format("no {} in '{}'", what, config.path);
  const auto names = list_gettable();
  const bool can_get = std::ranges::find(names, config.name) != names.end();
  if (!can_get) {
    return {ErrorKind::NotFound, message,
            "set data.path to the folder or file that holds the data"};
  }
  return {ErrorKind::NotFound, message,
          fmt::format("run `kedge data get {}`, or set data.path to the folder that has it",
                      config.name)};
}

}  // namespace kedge::data
