#include "store/database.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"
#include "store/internal/backends.h"

namespace kedge::store {

Result<std::int64_t> Database::query_integer(std::string_view sql,
                                             std::initializer_list<SqlValue> values,
                                             std::int64_t fallback) {
  std::int64_t answer = fallback;
  bool is_first = true;
  KEDGE_TRY(query(sql, values, [&](const SqlRow& row) -> Result<void> {
    if (is_first) {
      answer = row.integer(0);
      is_first = false;
    }
    return {};
  }));
  return answer;
}

bool is_disk_full(const Error& error) {
  return error.hint == kDiskFullHint;
}

DatabaseAddress parse_address(const std::string& address) {
  if (address.starts_with("postgres://") || address.starts_with("postgresql://")) {
    return {.postgres = address};
  }
  return {.folder = address};
}

// postgres://user:password@host/name?password=word
std::string render_address(const DatabaseAddress& address) {
  if (!address.is_postgres()) {
    return address.folder.string();
  }
  std::string text = address.postgres.substr(0, address.postgres.find('?'));
  const std::size_t begin = text.find("://") + 3;
  const std::size_t at = text.rfind('@', text.find('/', begin));
  const std::size_t colon = text.find(':', begin);
  if (at != std::string::npos && colon < at) {
    text.erase(colon, at - colon);
  }
  return text;
}

Result<std::unique_ptr<Database>> open_database(const DatabaseAddress& address, Access access) {
  return address.is_postgres() ? open_postgres(address.postgres, access)
                               : open_sqlite(address.folder, access);
}

std::string substitute_types(std::string_view sql, std::string_view id, std::string_view blob) {
  std::string text(sql);
  const auto replace = [&](std::string_view what, std::string_view with) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
      text.replace(at, what.size(), with);
    }
  };
  replace("{id}", id);
  replace("{blob}", blob);
  return text;
}

}  // namespace kedge::store
