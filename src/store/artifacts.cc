#include "store/artifacts.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/units.h"
#include "store/internal/artifact_draft.h"
#include "store/internal/artifact_rows.h"
#include "store/internal/blob_references.h"
#include "store/internal/tables.h"

namespace kedge::store {
namespace {

// How many bytes of the draft the project does not hold yet.
Result<std::uint64_t> count_new_bytes(Store& store, const ArtifactDraft& draft) {
  return Tables(store).read([&](Database& database) -> Result<std::uint64_t> {
    std::uint64_t bytes = 0;
    for (const ArtifactFile& file : draft.files) {
      const bool is_held = !file.reference.empty() ||
                           KEDGE_TRY(is_blob_referred(database, file.digest, draft.project));
      bytes += is_held ? 0 : file.size;
    }
    return bytes;
  });
}

Result<std::vector<std::string>> find_missing(Store& store, BlobStore& blobs,
                                              const ArtifactDraft& draft) {
  std::set<std::string> wanted;
  for (const ArtifactFile& file : draft.files) {
    if (file.reference.empty()) {
      wanted.insert(file.digest);
    }
  }
  std::vector<std::string> missing;
  for (const std::string& digest : wanted) {
    bool is_there = KEDGE_TRY(blobs.find_size(digest)).has_value();
    if (is_there && !draft.blobs_of.empty()) {
      is_there = KEDGE_TRY(Tables(store).read(
          [&](Database& database) { return is_blob_referred(database, digest, draft.blobs_of); }));
    }
    if (!is_there) {
      missing.push_back(digest);
    }
  }
  return missing;
}

// The number of the artifact's row; it is made when it is not there.
Result<std::int64_t> find_or_add_artifact(Database& database, const ArtifactDraft& draft,
                                          std::int64_t now_us) {
  KEDGE_TRY(database.run(
      "INSERT INTO artifacts (project, name, type, description, created_us, next_version)"
      " VALUES ($1, $2, $3, $4, $5, 0) ON CONFLICT (project, name) DO NOTHING",
      {draft.project, draft.name, draft.type, draft.description, now_us}));
  const auto [id, type] =
      KEDGE_TRY(
          database.find("SELECT id, type FROM artifacts WHERE project = $1 AND name = $2",
                        {draft.project, draft.name},
                        [](const SqlRow& row) { return std::pair(row.integer(0), row.string(1)); }))
          .value();
  if (type != draft.type) {
    return fail(
        ErrorKind::Usage,
        fmt::format("artifact '{}' has the type '{}', not '{}'", draft.name, type, draft.type),
        "choose another name, or give the type it has");
  }
  return id;
}

Result<std::int64_t> add_version(Database& database, const ArtifactDraft& draft,
                                 std::int64_t artifact, std::int64_t now_us) {
  std::uint64_t size = 0;
  for (const ArtifactFile& file : draft.files) {
    size += file.size;
  }
  const RunKey maker = draft.made_by.value_or(RunKey{});
  KEDGE_TRY(database.run(
      "INSERT INTO artifact_versions (artifact, version, digest, description, metadata, size,"
      " file_count, created_us, made_in, made_by) SELECT $1, next_version, $2, $3, $4, $5, $6, $7,"
      " $8, $9 FROM artifacts WHERE id = $1",
      {artifact, digest_of(draft.files), draft.description, draft.metadata.dump(), size,
       draft.files.size(), now_us, maker.project, maker.id}));
  KEDGE_TRY(database.run("UPDATE artifacts SET next_version = next_version + 1 WHERE id = $1",
                         {artifact}));
  const std::int64_t id = KEDGE_TRY(database.query_integer(
      "SELECT MAX(id) FROM artifact_versions WHERE artifact = $1", {artifact}));
  for (const ArtifactFile& file : draft.files) {
    KEDGE_TRY(
        database.run("INSERT INTO artifact_files (version, path, digest, size, reference)"
                     " VALUES ($1, $2, $3, $4, $5)",
                     {id, file.path, file.digest, file.size, file.reference}));
  }
  return id;
}

Result<void> move_artifact_alias(Database& database, std::int64_t version,
                                 const std::string& alias) {
  return database.run(
      "INSERT INTO artifact_aliases (artifact, alias, version)"
      " SELECT artifact, $2, id FROM artifact_versions WHERE id = $1"
      " ON CONFLICT (artifact, alias) DO UPDATE SET version = excluded.version",
      {version, alias});
}

// The versions that such a query names, in its order.
Result<std::vector<ArtifactVersion>> find_versions(Database& database, std::string_view query,
                                                   const RunKey& run) {
  const auto names = KEDGE_TRY(database.list(query, {run.id, run.project}, [](const SqlRow& row) {
    return std::tuple(row.string(0), row.string(1), std::to_string(row.integer(2)));
  }));
  std::vector<ArtifactVersion> versions;
  for (const auto& [project, name, version] : names) {
    versions.push_back(KEDGE_TRY(find_version(database, project, name, version)).version);
  }
  return versions;
}

// One change of a version that is there; NotFound when it is not.
template <typename Change>
Result<void> change_version(Store& store, const ArtifactVersion& version, const Change& change) {
  return Tables(store).change([&](Database& database) -> Result<void> {
    const StoredVersion stored = KEDGE_TRY(
        find_version(database, version.project, version.name, std::to_string(version.version)));
    return change(database, stored.id);
  });
}

}  // namespace

Result<std::vector<Artifact>> Artifacts::list(const std::string& project,
                                              const std::string& type) const {
  return Tables(store_).list(
      "SELECT a.project, a.name, a.type, a.description, COUNT(v.id), MAX(v.version),"
      " COALESCE(SUM(v.size), 0), a.created_us, COALESCE(MAX(v.created_us), a.created_us)"
      " FROM artifacts a LEFT JOIN artifact_versions v ON v.artifact = a.id"
      " WHERE a.project = $1 AND ($2 = '' OR a.type = $2) GROUP BY a.id ORDER BY a.name",
      {project, type}, [](const SqlRow& row) {
        return Artifact{.project = row.string(0),
                        .name = row.string(1),
                        .type = row.string(2),
                        .description = row.string(3),
                        .version_count = row.count(4),
                        .latest = row.optional(5),
                        .size = row.count(6),
                        .created_us = row.integer(7),
                        .changed_us = row.integer(8)};
      });
}

Result<std::vector<ArtifactVersion>> Artifacts::versions(const std::string& project,
                                                         const std::string& name) const {
  std::vector<ArtifactVersion> found;
  for (StoredVersion& stored : KEDGE_TRY(Tables(store_).read(
           [&](Database& database) { return read_versions(database, project, name); }))) {
    found.push_back(std::move(stored.version));
  }
  return found;
}

Result<ArtifactVersion> Artifacts::find(const std::string& project, const std::string& name,
                                        const std::string& word) const {
  return KEDGE_TRY(Tables(store_).read([&](Database& database) {
           return find_version(database, project, name, word);
         }))
      .version;
}

Result<std::vector<ArtifactFile>> Artifacts::files(const ArtifactVersion& version) const {
  return Tables(store_).list(
      "SELECT f.path, f.digest, f.size, f.reference FROM artifact_files f"
      " JOIN artifact_versions v ON v.id = f.version JOIN artifacts a ON a.id = v.artifact"
      " WHERE a.project = $1 AND a.name = $2 AND v.version = $3 ORDER BY f.path",
      {version.project, version.name, version.version}, [](const SqlRow& row) {
        return ArtifactFile{.path = row.string(0),
                            .digest = row.string(1),
                            .size = row.count(2),
                            .reference = row.string(3)};
      });
}

Result<std::vector<RunKey>> Artifacts::users(const ArtifactVersion& version) const {
  return Tables(store_).list(
      "SELECT u.project, u.run_id FROM artifact_uses u"
      " JOIN artifact_versions v ON v.id = u.version JOIN artifacts a ON a.id = v.artifact"
      " WHERE a.project = $1 AND a.name = $2 AND v.version = $3 ORDER BY u.time_us, u.run_id",
      {version.project, version.name, version.version},
      [](const SqlRow& row) { return RunKey{.project = row.string(0), .id = row.string(1)}; });
}

Result<RunArtifacts> Artifacts::of_run(const RunKey& run) const {
  return Tables(store_).read([&](Database& database) -> Result<RunArtifacts> {
    return RunArtifacts{
        .made = KEDGE_TRY(find_versions(
            database,
            "SELECT a.project, a.name, v.version FROM artifact_versions v"
            " JOIN artifacts a ON a.id = v.artifact WHERE v.made_by = $1 AND v.made_in = $2"
            " ORDER BY v.id",
            run)),
        .used = KEDGE_TRY(find_versions(
            database,
            "SELECT a.project, a.name, v.version FROM artifact_uses u"
            " JOIN artifact_versions v ON v.id = u.version JOIN artifacts a ON a.id = v.artifact"
            " WHERE u.run_id = $1 AND u.project = $2 ORDER BY u.time_us, v.id",
            run))};
  });
}

Result<CommitAnswer> Artifacts::commit(const ArtifactDraft& draft, std::int64_t now_us) {
  KEDGE_TRY(check_draft(draft));
  const auto kept = keep_blobs();
  CommitAnswer answer{.version = {}, .missing = KEDGE_TRY(find_missing(store_, blobs_, draft))};
  if (!answer.missing.empty()) {
    return answer;
  }
  if (project_quota_ > 0) {
    KEDGE_TRY(check_quota(draft.project, KEDGE_TRY(count_new_bytes(store_, draft))));
  }
  KEDGE_TRY(Tables(store_).change([&](Database& database) -> Result<void> {
    const std::int64_t artifact = KEDGE_TRY(find_or_add_artifact(database, draft, now_us));
    const auto newest = find_version(database, draft.project, draft.name, "latest");
    std::int64_t id = 0;
    if (newest && newest->version.digest == digest_of(draft.files)) {
      id = newest->id;
    } else {
      id = KEDGE_TRY(add_version(database, draft, artifact, now_us));
      answer.is_new = true;
    }
    for (const std::string& alias : draft.aliases) {
      if (alias != "latest") {
        KEDGE_TRY(move_artifact_alias(database, id, alias));
      }
    }
    answer.version = KEDGE_TRY(find_version(database, draft.project, draft.name, "latest")).version;
    return {};
  }));
  return answer;
}

Result<void> Artifacts::use(const ArtifactVersion& version, const RunKey& run,
                            std::int64_t now_us) {
  return change_version(store_, version, [&](Database& database, std::int64_t row) {
    return database.run(
        "INSERT INTO artifact_uses (version, project, run_id, time_us) VALUES ($1, $2, $3, $4)"
        " ON CONFLICT (version, project, run_id) DO NOTHING",
        {row, run.project, run.id, now_us});
  });
}

Result<void> Artifacts::set_alias(const ArtifactVersion& version, const std::string& alias) {
  KEDGE_TRY(check_alias(alias));
  return change_version(store_, version, [&](Database& database, std::int64_t row) {
    return move_artifact_alias(database, row, alias);
  });
}

Result<bool> Artifacts::remove_alias(const std::string& project, const std::string& name,
                                     const std::string& alias) {
  return Tables(store_).change([&](Database& database) -> Result<bool> {
    return KEDGE_TRY(database.find("DELETE FROM artifact_aliases WHERE alias = $3 AND artifact IN"
                                   " (SELECT id FROM artifacts WHERE project = $1 AND name = $2)"
                                   " RETURNING alias",
                                   {project, name, alias}, first_text))
        .has_value();
  });
}

Result<void> Artifacts::set_metadata(const ArtifactVersion& version,
                                     const nlohmann::json& metadata) {
  return change_version(store_, version, [&](Database& database, std::int64_t row) {
    return database.run("UPDATE artifact_versions SET metadata = $2 WHERE id = $1",
                        {row, metadata.dump()});
  });
}

Result<void> Artifacts::set_description(const ArtifactVersion& version,
                                        const std::string& description) {
  return change_version(store_, version, [&](Database& database, std::int64_t row) {
    return database.run("UPDATE artifact_versions SET description = $2 WHERE id = $1",
                        {row, description});
  });
}

Result<std::uint64_t> Artifacts::remove(const ArtifactVersion& version) {
  std::vector<std::string> digests;
  KEDGE_TRY(
      change_version(store_, version, [&](Database& database, std::int64_t row) -> Result<void> {
        digests = KEDGE_TRY(database.list(
            "SELECT DISTINCT digest FROM artifact_files WHERE version = $1 AND reference = ''",
            {row}, first_text));
        std::ranges::move(
            KEDGE_TRY(forget_drafts(database, "project = $1 AND name = $2 AND version = $3",
                                    {version.project, version.name, version.version})),
            std::back_inserter(digests));
        return database.run("DELETE FROM artifact_versions WHERE id = $1", {row});
      }));
  return free_unused(digests);
}

Result<std::uint64_t> Artifacts::free_unused(const std::vector<std::string>& digests) {
  const std::unique_lock alone(freeing_);
  const auto unused =
      KEDGE_TRY(Tables(store_).read([&](Database& database) -> Result<std::vector<std::string>> {
        std::vector<std::string> found;
        for (const std::string& digest : digests) {
          if (!KEDGE_TRY(is_blob_referred(database, digest))) {
            found.push_back(digest);
          }
        }
        return found;
      }));
  std::uint64_t freed_bytes = 0;
  for (const std::string& digest : unused) {
    const auto size = KEDGE_TRY(blobs_.find_size(digest));
    freed_bytes += KEDGE_TRY(blobs_.remove(digest)) ? size.value_or(0) : 0;
  }
  return freed_bytes;
}

Result<void> Artifacts::check_quota(const std::string& project, std::uint64_t more) {
  if (project_quota_ == 0 || more == 0 || project.empty()) {
    return {};
  }
  const std::lock_guard lock(usage_mutex_);
  const auto known = usage_.find(project);
  if (known == usage_.end() || known->second + more > project_quota_) {
    // Something may have been deleted, or sent twice.
    usage_[project] = KEDGE_TRY(Tables(store_).read(
        [&](Database& database) { return sum_referred_bytes(database, project); }));
  }
  std::uint64_t& held = usage_[project];
  if (held + more > project_quota_) {
    return fail(
        ErrorKind::Io,
        fmt::format("No space left for project '{}': it holds {}, {} more are too many, and "
                    "its quota is {}",
                    project, render_bytes({held}), render_bytes({more}),
                    render_bytes({project_quota_})),
        "delete runs or artifacts of it; --project-quota of the server is the limit");
  }
  held += more;
  return {};
}

}  // namespace kedge::store
