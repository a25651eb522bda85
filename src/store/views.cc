#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/internal/tables.h"
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

Result<AuditLine> read_audit_line(const SqlRow& row) {
  return AuditLine{.time_us = row.integer(0),
                   .who = row.string(1),
                   .what = row.string(2),
                   .target = row.string(3),
                   .detail = KEDGE_TRY(parse_json(row.text(4)))};
}

}  // namespace

Result<std::vector<View>> Store::list_views(const std::string& project) const {
  return Tables(*this).list(
      "SELECT id, name, project, view FROM views WHERE $1 = '' OR project = $1 "
      "ORDER BY project, name, id",
      {project}, read_view);
}

Result<std::optional<View>> Store::find_view(const std::string& id) const {
  return Tables(*this).find("SELECT id, name, project, view FROM views WHERE id = $1", {id},
                            read_view);
}

Result<void> Store::put_view(const View& view, std::int64_t now_us) {
  return Tables(*this).run(
      "INSERT INTO views (id, name, project, view, changed_us) VALUES ($1, $2, $3, $4, $5) "
      "ON CONFLICT (id) DO UPDATE SET name = excluded.name, project = excluded.project,"
      " view = excluded.view, changed_us = excluded.changed_us",
      {make_valid_text(view.id), make_valid_text(view.name), make_valid_text(view.project),
       render_json(view.view), now_us});
}

Result<bool> Store::delete_view(const std::string& id) {
  return Tables(*this).change([&](Database& database) -> Result<bool> {
    return KEDGE_TRY(
               database.find("DELETE FROM views WHERE id = $1 RETURNING id", {id}, first_text))
        .has_value();
  });
}

Result<void> Store::add_audit(const AuditLine& line) {
  return Tables(*this).run(
      "INSERT INTO audit (time_us, who, what, target, detail) VALUES ($1, $2, $3, $4, $5)",
      {line.time_us, make_valid_text(line.who), make_valid_text(line.what),
       make_valid_text(line.target), render_json(line.detail)});
}

Result<std::vector<AuditLine>> Store::list_audit(std::size_t limit) const {
  return Tables(*this).list(
      "SELECT time_us, who, what, target, detail FROM audit ORDER BY id DESC LIMIT $1", {limit},
      read_audit_line);
}

Result<std::string> Store::keep_setting(const std::string& name, const std::string& first) {
  return Tables(*this).change([&](Database& database) -> Result<std::string> {
    KEDGE_TRY(
        database.run("INSERT INTO settings (name, value) VALUES ($1, $2)"
                     " ON CONFLICT (name) DO NOTHING",
                     {name, first}));
    return KEDGE_TRY(
               database.find("SELECT value FROM settings WHERE name = $1", {name}, first_text))
        .value();
  });
}

}  // namespace kedge::store
