#include "store/dialect/artifact_drafts.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "store/internal/artifact_rows.h"
#include "store/internal/tables.h"
#include "store/internal/text.h"

namespace kedge::store {
namespace {

using nlohmann::json;

constexpr std::string_view kSelectDraft =
    "SELECT id, project, name, type, digest, description, metadata, aliases, tags, ttl_s, made_in,"
    " made_by, client_id, sequence_client_id, history_step, state, version, manifest, created_us,"
    " changed_us FROM artifact_drafts WHERE ";

Result<std::vector<std::string>> parse_texts(std::string_view text) {
  const json list = KEDGE_TRY(parse_json(text));
  return list.get<std::vector<std::string>>();
}

Result<VersionDraft> read_draft(const SqlRow& row) {
  VersionDraft draft{.id = row.integer(0),
                     .project = row.string(1),
                     .name = row.string(2),
                     .type = row.string(3),
                     .digest = row.string(4),
                     .description = row.string(5),
                     .metadata = KEDGE_TRY(parse_json(row.text(6))),
                     .aliases = KEDGE_TRY(parse_texts(row.text(7))),
                     .tags = KEDGE_TRY(parse_texts(row.text(8))),
                     .ttl_s = row.optional(9)};
  if (!row.text(11).empty()) {
    draft.made_by = RunKey{row.string(10), row.string(11)};
  }
  draft.client_id = row.string(12);
  draft.sequence_client_id = row.string(13);
  draft.history_step = row.optional(14);
  draft.is_deleted = row.text(15) == "deleted";
  draft.version = row.optional(16);
  draft.manifest = row.string(17);
  draft.created_us = row.integer(18);
  draft.changed_us = row.integer(19);
  return draft;
}

void change_tags(std::vector<std::string>& tags, const DraftPatch& patch) {
  for (const std::string& tag : patch.removed_tags) {
    std::erase(tags, tag);
  }
  for (const std::string& tag : patch.added_tags) {
    if (std::ranges::find(tags, tag) == tags.end()) {
      tags.push_back(tag);
    }
  }
}

Result<std::optional<VersionDraft>> find_draft(const Store& store, std::string_view condition,
                                               std::initializer_list<SqlValue> values) {
  return Tables(store).find(fmt::format("{}{} LIMIT 1", kSelectDraft, condition), values,
                            read_draft);
}

}  // namespace

Result<std::vector<std::string>> forget_drafts(Database& database, std::string_view which,
                                               std::initializer_list<SqlValue> values) {
  auto digests = KEDGE_TRY(database.list(
      fmt::format("SELECT manifest FROM artifact_drafts WHERE {}", which), values, first_text));
  std::ranges::move(KEDGE_TRY(database.list(fmt::format("DELETE FROM artifact_draft_files"
                                                        " WHERE draft IN (SELECT id FROM"
                                                        " artifact_drafts WHERE {})"
                                                        " RETURNING digest",
                                                        which),
                                            values, first_text)),
                    std::back_inserter(digests));
  std::erase(digests, "");
  KEDGE_TRY(database.run(
      fmt::format("UPDATE artifact_drafts SET state = 'deleted', manifest = '' WHERE {}", which),
      values));
  return digests;
}

Result<VersionDraft> ArtifactDrafts::create(const VersionDraft& draft, std::int64_t now_us) {
  const std::string metadata = render_json(draft.metadata);
  const std::string aliases = json(draft.aliases).dump();
  const std::string tags = json(draft.tags).dump();
  const RunKey maker = draft.made_by.value_or(RunKey());
  return find(KEDGE_TRY(Tables(store_).change([&](Database& database) {
    return database.query_integer(
        "INSERT INTO artifact_drafts (project, name, type, digest, description, metadata, aliases,"
        " tags, ttl_s, made_in, made_by, client_id, sequence_client_id, history_step, state,"
        " version, manifest, created_us, changed_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,"
        " $10, $11, $12, $13, $14, 'pending', NULL, '', $15, $15) RETURNING id",
        {draft.project, draft.name, draft.type, draft.digest, make_valid_text(draft.description),
         metadata, aliases, tags, draft.ttl_s, maker.project, maker.id, draft.client_id,
         draft.sequence_client_id, draft.history_step, now_us});
  })));
}

Result<VersionDraft> ArtifactDrafts::find(std::int64_t id) const {
  auto found = KEDGE_TRY(find_draft(store_, "id = $1", {id}));
  if (!found) {
    return fail(ErrorKind::NotFound, fmt::format("there is no draft {} of an artifact", id));
  }
  return std::move(*found);
}

Result<std::optional<VersionDraft>> ArtifactDrafts::find_version(
    const ArtifactVersion& version) const {
  return find_draft(store_,
                    "project = $1 AND name = $2 AND version = $3 AND state = 'committed'"
                    " ORDER BY id",
                    {version.project, version.name, version.version});
}

Result<std::optional<VersionDraft>> ArtifactDrafts::find_client(
    const std::string& client_id) const {
  if (client_id.empty()) {
    return std::nullopt;
  }
  auto found = KEDGE_TRY(find_draft(store_, "client_id = $1 ORDER BY id DESC", {client_id}));
  return found ? std::move(found)
               : KEDGE_TRY(find_draft(store_,
                                      "sequence_client_id = $1 AND state = 'committed'"
                                      " ORDER BY version DESC",
                                      {client_id}));
}

Result<std::vector<DraftFile>> ArtifactDrafts::files(std::int64_t draft) const {
  return Tables(store_).list(
      "SELECT path, md5, digest, size FROM artifact_draft_files WHERE draft = $1 ORDER BY path",
      {draft}, [](const SqlRow& row) {
        return DraftFile{row.string(0), row.string(1), row.string(2), row.count(3)};
      });
}

Result<void> ArtifactDrafts::put_files(std::int64_t draft, const std::vector<DraftFile>& files) {
  return Tables(store_).change([&](Database& database) -> Result<void> {
    for (const DraftFile& file : files) {
      KEDGE_TRY(
          database.run("INSERT INTO artifact_draft_files (draft, path, md5, digest, size)"
                       " VALUES ($1, $2, $3, $4, $5) ON CONFLICT (draft, path) DO UPDATE SET"
                       " md5 = excluded.md5, digest = excluded.digest, size = excluded.size",
                       {draft, make_valid_text(file.path), file.md5, file.digest, file.size}));
    }
    return {};
  });
}

Result<void> ArtifactDrafts::set_manifest(std::int64_t draft, const std::string& digest) {
  return Tables(store_).run(
      "UPDATE artifact_drafts SET manifest = $2 WHERE id = $1 AND state = 'pending'",
      {draft, digest});
}

Result<std::optional<std::string>> ArtifactDrafts::find_md5(const std::string& digest) const {
  return Tables(store_).find("SELECT md5 FROM blob_md5 WHERE digest = $1", {digest}, first_text);
}

Result<void> ArtifactDrafts::put_md5(const std::string& digest, const std::string& md5) const {
  return Tables(store_).run(
      "INSERT INTO blob_md5 (digest, md5) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING",
      {digest, md5});
}

Result<std::optional<ArtifactDrafts::KnownBytes>> ArtifactDrafts::find_bytes(
    const std::string& md5, const std::string& project) const {
  return Tables(store_).find(
      "SELECT f.digest, f.size, f.draft FROM artifact_draft_files f"
      " JOIN artifact_drafts d ON d.id = f.draft"
      " WHERE f.md5 = $1 AND f.digest <> '' AND d.state = 'committed'"
      " AND ($2 = '' OR d.project = $2) ORDER BY f.draft LIMIT 1",
      {md5, project},
      [](const SqlRow& row) { return KnownBytes{row.string(0), row.count(1), row.integer(2)}; });
}

Result<VersionDraft> ArtifactDrafts::commit(std::int64_t id, const std::vector<ArtifactFile>& files,
                                            std::int64_t now_us) {
  const VersionDraft draft = KEDGE_TRY(find(id));
  if (draft.version) {
    return draft;
  }
  const CommitAnswer answer = KEDGE_TRY(artifacts_.commit({.project = draft.project,
                                                           .name = draft.name,
                                                           .type = draft.type,
                                                           .description = draft.description,
                                                           .metadata = draft.metadata,
                                                           .aliases = draft.aliases,
                                                           .files = files,
                                                           .made_by = draft.made_by},
                                                          now_us));
  if (!answer.version) {
    return fail(ErrorKind::Usage,
                fmt::format("{} files of the artifact have not come", answer.missing.size()));
  }
  // A crash in between leaves a version whose draft is pending: committed again, the newest version
  // has the same files and is taken.
  KEDGE_TRY(Tables(store_).run(
      "UPDATE artifact_drafts SET state = 'committed', version = $2, changed_us = $3"
      " WHERE id = $1",
      {id, answer.version->version, now_us}));
  return find(id);
}

Result<VersionDraft> ArtifactDrafts::patch(std::int64_t id, const DraftPatch& patch,
                                           std::int64_t now_us) {
  VersionDraft draft = KEDGE_TRY(find(id));
  draft.description = patch.description.value_or(draft.description);
  draft.metadata = patch.metadata.value_or(draft.metadata);
  draft.ttl_s = patch.ttl_s ? patch.ttl_s : draft.ttl_s;
  change_tags(draft.tags, patch);
  const std::string metadata = render_json(draft.metadata);
  const std::string tags = json(draft.tags).dump();
  KEDGE_TRY(Tables(store_).change([&](Database& database) -> Result<void> {
    KEDGE_TRY(database.run(
        "UPDATE artifact_drafts SET description = $2, metadata = $3, tags = $4, ttl_s = $5,"
        " changed_us = $6 WHERE id = $1",
        {id, make_valid_text(draft.description), metadata, tags, draft.ttl_s, now_us}));
    if (!draft.version) {
      return {};
    }
    return database.run(
        "UPDATE artifact_versions SET description = $4, metadata = $5 WHERE version = $3 AND"
        " artifact = (SELECT id FROM artifacts WHERE project = $1 AND name = $2)",
        {draft.project, draft.name, *draft.version, make_valid_text(draft.description), metadata});
  }));
  return draft;
}

Result<void> ArtifactDrafts::remove(std::int64_t id) {
  const VersionDraft draft = KEDGE_TRY(find(id));
  if (draft.version) {
    const auto version = artifacts_.find(draft.project, draft.name, std::to_string(*draft.version));
    if (version) {
      KEDGE_TRY(artifacts_.remove(*version));
    }
    return version || version.error().kind == ErrorKind::NotFound
               ? Result<void>()
               : std::unexpected(version.error());
  }
  KEDGE_TRY(artifacts_.free_unused(KEDGE_TRY(Tables(store_).change(
      [&](Database& database) { return forget_drafts(database, "id = $1", {id}); }))));
  return {};
}

}  // namespace kedge::store
