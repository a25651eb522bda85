#include "store/internal/database.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"
#include "store/internal/backends.h"
#include "store/internal/schema.h"
#include "store/internal/table_copy.h"
#include "store/store.h"

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

Result<std::unique_ptr<Backend>> find_backend(const std::string& address) {
  const std::size_t end = address.find("://");
  return Backends::make("database",
                        end == std::string::npos ? std::string("sqlite") : address.substr(0, end));
}

Result<std::unique_ptr<Database>> open_database(const std::string& address, Access access) {
  return KEDGE_TRY(find_backend(address))->open(address, access);
}

std::string render_address(const std::string& address) {
  const auto backend = find_backend(address);
  return backend ? (*backend)->render(address) : address;
}

Result<void> check_address(const std::string& address) {
  KEDGE_TRY(find_backend(address));
  return {};
}

Result<void> Database::copy_to(const Path& folder) {
  const auto copy = KEDGE_TRY(open_database(folder.string(), Access::Owner));
  KEDGE_TRY(migrate(*copy));
  return copy_tables(*this, *copy, *copy);
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
