#include "store/dialect/loose_files.h"

#include "store/internal/run_rows.h"
#include "store/internal/tables.h"
#include "store/internal/text.h"

namespace kedge::store {

Result<std::vector<RunFile>> LooseFiles::list(const std::string& shelf) const {
  return Tables(store_).list(
      "SELECT path, size, digest FROM loose_files WHERE shelf = $1 ORDER BY path", {shelf},
      read_file_row);
}

Result<std::optional<RunFile>> LooseFiles::find(const std::string& shelf,
                                                const std::string& path) const {
  return Tables(store_).find(
      "SELECT path, size, digest FROM loose_files WHERE shelf = $1 AND path = $2", {shelf, path},
      read_file_row);
}

Result<void> LooseFiles::put(const std::string& shelf, const RunFile& file) {
  return Tables(store_).run(
      "INSERT INTO loose_files (shelf, path, size, digest) VALUES ($1, $2, $3, $4)"
      " ON CONFLICT (shelf, path) DO UPDATE SET size = excluded.size, digest = excluded.digest",
      {shelf, make_valid_text(file.path), file.size, file.digest});
}

Result<void> LooseFiles::remove(const std::string& shelf, const std::vector<std::string>& paths) {
  return Tables(store_).change([&](Database& database) -> Result<void> {
    for (const std::string& path : paths) {
      KEDGE_TRY(
          database.run("DELETE FROM loose_files WHERE shelf = $1 AND path = $2", {shelf, path}));
    }
    return {};
  });
}

Result<std::string> LooseFiles::project_of(const std::string& shelf) const {
  return KEDGE_TRY(Tables(store_).find("SELECT p.name FROM logged_models m"
                                       " JOIN projects p ON p.id = m.project_id"
                                       " WHERE 'models/' || m.id = $1",
                                       {shelf}, first_text))
      .value_or("");
}

}  // namespace kedge::store
