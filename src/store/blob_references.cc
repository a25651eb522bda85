#include "store/blob_references.h"

#include <array>

#include <fmt/format.h>

namespace kedge::store {
namespace {

constexpr auto kBlobReferences = std::to_array<BlobReference>({
    {.table = "files", .column = "digest", .size_column = "size"},
    // The digest of a reference is what the owner of the bytes says, and no blob's.
    {.table = "artifact_files",
     .column = "digest",
     .size_column = "size",
     .condition = "reference = ''"},
    {.table = "loose_files", .column = "digest", .size_column = "size"},
    {.table = "artifact_draft_files", .column = "digest", .size_column = "size"},
    {.table = "artifact_drafts", .column = "manifest"},
});

// (digest, size) of every row that names a blob, where its digest passes `test`.
std::string select_referred(std::string_view test) {
  std::string sql;
  for (const BlobReference& reference : kBlobReferences) {
    sql += fmt::format("{}SELECT {} AS digest, {} AS size FROM {} WHERE {} {} AND {}",
                       sql.empty() ? "" : " UNION ALL ", reference.column,
                       reference.size_column.empty() ? "0" : reference.size_column, reference.table,
                       reference.column, test, reference.condition);
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
  std::vector<StoredBlob> blobs;
  KEDGE_TRY(database.query(sql, {}, [&](const SqlRow& row) -> Result<void> {
    blobs.push_back({row.string(0), static_cast<std::uint64_t>(row.integer(1))});
    return {};
  }));
  return blobs;
}

Result<bool> is_blob_referred(Database& database, std::string_view digest) {
  // Every column has an index.
  static const std::string sql =
      fmt::format("SELECT COUNT(*) FROM ({}) AS referred", select_referred("= $1"));
  return KEDGE_TRY(database.query_integer(sql, {digest})) > 0;
}

}  // namespace kedge::store
