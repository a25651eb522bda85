// The two databases behind store/database.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/file.h"
#include "core/result.h"
#include "store/database.h"

namespace kedge::store {

inline constexpr std::string_view kDiskFullHint =
    "make room on the disk; everything committed before is safe";

Result<std::unique_ptr<Database>> open_sqlite(const Path& folder, Access access);
Result<std::unique_ptr<Database>> open_postgres(const std::string& address, Access access);

// SQL with the types of one database in place of {id} and {blob}.
std::string substitute_types(std::string_view sql, std::string_view id, std::string_view blob);

// The name of a network file system by its number in statfs(2); nothing for local ones.
std::optional<std::string_view> network_file_system(std::int64_t magic);

// For caches of prepared statements, which are looked up by views.
struct TextHash {
  using is_transparent = void;

  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

}  // namespace kedge::store
