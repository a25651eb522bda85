#include "store/internal/tables.h"

#include "store/internal/store_parts.h"

namespace kedge::store {

Result<void> Tables::read_with(const Step& step) const {
  return impl_.read(step);
}

Result<void> Tables::change_with(const Step& step) const {
  return impl_.writer->run(step);
}

Result<void> Tables::run(std::string_view sql, std::initializer_list<SqlValue> values) const {
  return change_with([&](Database& database) { return database.run(sql, values); });
}

void Tables::change(std::function<Result<void>(Database&)> work, Done<void> done) const {
  impl_.writer->submit(std::move(work), std::move(done));
}

}  // namespace kedge::store
