#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/internal/store_parts.h"
#include "store/internal/text.h"
#include "store/store.h"

namespace kedge::store {
namespace {

Result<View> read_view(const SqlRow& row) {
  return View{.id = row.string(0),
              .name = row.string(1),
              .project = row.string(2),
              .view = KEDGE_TRY(parse_json(row.text(3)))};
}

}  // namespace

Result<std::vector<View>> Store::list_views(const std::string& project) const {
  std::vector<View> views;
  const auto add = [&](const SqlRow& row) -> Result<void> {
    views.push_back(KEDGE_TRY(read_view(row)));
    return {};
  };
  KEDGE_TRY(impl_->read([&](Database& database) {
    views.clear();
    return database.query(
        "SELECT id, name, project, view FROM views WHERE $1 = '' OR project = $1 "
        "ORDER BY project, name, id",
        {project}, add);
  }));
  return views;
}

Result<std::optional<View>> Store::find_view(const std::string& id) const {
  std::optional<View> view;
  const auto set = [&](const SqlRow& row) -> Result<void> {
    view = KEDGE_TRY(read_view(row));
    return {};
  };
  KEDGE_TRY(impl_->read([&](Database& database) {
    return database.query("SELECT id, name, project, view FROM views WHERE id = $1", {id}, set);
  }));
  return view;
}

Result<void> Store::put_view(const View& view, std::int64_t now_us) {
  return change([&](Database& database) {
    return database.run(
        "INSERT INTO views (id, name, project, view, changed_us) VALUES ($1, $2, $3, $4, $5) "
        "ON CONFLICT (id) DO UPDATE SET name = excluded.name, project = excluded.project,"
        " view = excluded.view, changed_us = excluded.changed_us",
        {make_valid_text(view.id), make_valid_text(view.name), make_valid_text(view.project),
         render_json(view.view), now_us});
  });
}

Result<bool> Store::delete_view(const std::string& id) {
  bool was_there = false;
  KEDGE_TRY(change([&](Database& database) {
    was_there = false;
    return database.query("DELETE FROM views WHERE id = $1 RETURNING id", {id},
                          [&](const SqlRow&) -> Result<void> {
                            was_there = true;
                            return {};
                          });
  }));
  return was_there;
}

Result<void> Store::add_audit(const AuditLine& line) {
  return change([&](Database& database) {
    return database.run(
        "INSERT INTO audit (time_us, who, what, target, detail) VALUES ($1, $2, $3, $4, $5)",
        {line.time_us, make_valid_text(line.who), make_valid_text(line.what),
         make_valid_text(line.target), render_json(line.detail)});
  });
}

Result<std::vector<AuditLine>> Store::list_audit(std::size_t limit) const {
  std::vector<AuditLine> lines;
  const auto add = [&](const SqlRow& row) -> Result<void> {
    lines.push_back({.time_us = row.integer(0),
                     .who = row.string(1),
                     .what = row.string(2),
                     .target = row.string(3),
                     .detail = KEDGE_TRY(parse_json(row.text(4)))});
    return {};
  };
  KEDGE_TRY(impl_->read([&](Database& database) {
    lines.clear();
    return database.query(
        "SELECT time_us, who, what, target, detail FROM audit ORDER BY id DESC LIMIT $1", {limit},
        add);
  }));
  return lines;
}

}  // namespace kedge::store
