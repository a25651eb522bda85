#include "store/internal/blob_references.h"

#include <array>

#include <fmt/format.h>

namespace kedge::store {
namespace {

constexpr auto kBlobReferences = std::to_array<BlobReference>({
    {.table = "files",
     .column = "digest",
     .size_column = "size",
     .project = "(SELECT p.name FROM runs r JOIN projects p ON p.id = r.project_id"
                " WHERE r.id = files.run)"},
    // The digest of a reference is what the owner of the bytes says, and no blob's.
    {.table = "artifact_files",
     .column = "digest",
     .size_column = "size",
     .condition = "reference = ''",
     .project = "(SELECT a.project FROM artifact_versions v JOIN artifacts a ON a.id = v.artifact"
                " WHERE v.id = artifact_files.version)"},
    // What lies on other shelves belongs to no project.
    {.table = "loose_files",
     .column = "digest",
     .size_column = "size",
     .project = "(SELECT p.name FROM logged_models m JOIN projects p ON p.id = m.project_id"
                " WHERE 'models/' || m.id = loose_files.shelf)"},
    {.table = "artifact_draft_files",
     .column = "digest",
     .size_column = "size",
     .project =
         "(SELECT d.project FROM artifact_drafts d WHERE d.id = artifact_draft_files.draft)"},
    {.table = "artifact_drafts", .column = "manifest", .project = "project"},
});

// (digest, size) of every row that names a blob, where its digest passes `test`; of the project $2
// alone where that is asked for.
std::string select_referred(std::string_view test, bool is_of_project = false) {
  std::string sql;
  for (const BlobReference& reference : kBlobReferences) {
    sql += fmt::format("{}SELECT {} AS digest, {} AS size FROM {} WHERE {} {} AND {}",
                       sql.empty() ? "" : " UNION ALL ", reference.column,
                       reference.size_column.empty() ? "0" : reference.size_column, reference.table,
                       reference.column, test, reference.condition);
    sql += is_of_project ? fmt::format(" AND {} = $2", reference.project) : "";
  }
  return sql;
}

}  // namespace

std::span<const BlobReference> blob_references() {
  return kBlobReferences;
}

Result<std::vector<StoredBlob>> list_referred_blobs(Database& database) {
  const std::string sql =
      fmt::format("SELECT digest, MAX(size) FROM ({}) AS referred GROUP BY digest ORDER BY digest",
                  select_referred("<> ''"));
  return database.list(sql, {},
                       [](const SqlRow& row) { return StoredBlob{row.string(0), row.count(1)}; });
}

Result<bool> is_blob_referred(Database& database, std::string_view digest,
                              std::string_view project) {
  // Every column has an index.
  static const std::string any = "SELECT COUNT(*) FROM (" + select_referred("= $1") + ") AS held";
  static const std::string own =
      "SELECT COUNT(*) FROM (" + select_referred("= $1", true) + ") AS held";
  return KEDGE_TRY(project.empty() ? database.query_integer(any, {digest})
                                   : database.query_integer(own, {digest, project})) > 0;
}

Result<std::uint64_t> sum_referred_bytes(Database& database, std::string_view project) {
  static const std::string sql =
      "SELECT COALESCE(SUM(size), 0) FROM (SELECT digest, MAX(size) AS size FROM (" +
      select_referred("<> $1", true) + ") AS referred GROUP BY digest) AS held";
  return static_cast<std::uint64_t>(KEDGE_TRY(database.query_integer(sql, {"", project})));
}

}  // namespace kedge::store
