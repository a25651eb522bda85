// The two databases behind store/database.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/file.h"
#include "core/registry.h"
#include "core/result.h"
#include "store/internal/database.h"

namespace kedge::store {

inline constexpr std::string_view kDiskFullHint =
    "make room on the disk; everything committed before is safe";

class Backend {
 public:
  virtual ~Backend() = default;
  virtual Result<std::unique_ptr<Database>> open(const std::string& address,
                                                 Access access) const = 0;

  // The address as people may see it: without a password.
  virtual std::string render(const std::string& address) const { return address; }
};

using Backends = Registry<Backend>;

// Usage, naming those there are, for a scheme that is none of a database's.
Result<std::unique_ptr<Backend>> find_backend(const std::string& address);

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
