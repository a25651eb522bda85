// Artifacts: named, versioned sets of files, which runs make and use. The bytes are blobs named by
// their SHA-256, so that equal files are kept once and go when nothing holds them any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "store/blobs.h"
#include "store/run.h"
#include "store/store.h"

namespace kedge::store {

struct ArtifactFile {
  std::string path = {};    // inside the artifact
  std::string digest = {};  // SHA-256, 64 hex digits; of a reference what its owner says, or empty
  std::uint64_t size = 0;
  std::string reference = {};  // a URI: the bytes stay where they are. Empty: they are a blob
};

struct ArtifactVersion {
  std::string project = {};
  std::string name = {};
  std::string type = {};
  std::int64_t version = 0;  // 0, 1, 2, ...: "v3" to its users
  std::string digest = {};   // of the list of files: equal content, equal digest
  std::string description = {};
  nlohmann::json metadata = nlohmann::json::object();
  std::vector<std::string> aliases = {};  // "latest" is the newest version's
  std::uint64_t size = 0;                 // bytes
  std::size_t file_count = 0;
  std::int64_t created_us = 0;
  std::optional<RunKey> made_by = {};
};

struct Artifact {
  std::string project = {};
  std::string name = {};
  std::string type = {};
  std::string description = {};
  std::size_t version_count = 0;
  std::optional<std::int64_t> latest = {};  // version
  std::uint64_t size = 0;                   // of all versions, equal files counted each time
  std::int64_t created_us = 0;
  std::int64_t changed_us = 0;
};

struct ArtifactDraft {
  std::string project = {};
  std::string name = {};
  std::string type = {};
  std::string description = {};
  nlohmann::json metadata = nlohmann::json::object();
  std::vector<std::string> aliases = {};
  std::vector<ArtifactFile> files = {};
  std::optional<RunKey> made_by = {};
  // Not empty: blobs that nothing of this project holds are missing, even if they are in the store.
  // Knowing a digest must not be enough to read another project's bytes.
  std::string blobs_of = {};
};

struct CommitAnswer {
  std::optional<ArtifactVersion> version =
      {};                                 // nothing: blobs are missing, and nothing was changed
  std::vector<std::string> missing = {};  // their digests
  bool is_new = false;                    // false: the newest version has the same files
};

// What an artifact came from and what came of it.
struct LineageNode {
  enum class Kind : std::uint8_t { Run, Artifact };
  Kind kind = Kind::Run;
  std::string project = {};
  std::string name = {};     // of an artifact; of a run its id
  std::int64_t version = 0;  // of an artifact
};

// What a run made and what it used, in the order in which that happened.
struct RunArtifacts {
  std::vector<ArtifactVersion> made = {};
  std::vector<ArtifactVersion> used = {};
};

struct LineageEdge {
  std::size_t from = 0;  // places in Lineage::nodes; from a run to what it made, from an
  std::size_t to = 0;    // artifact to a run that used it
};

struct Lineage {
  std::vector<LineageNode> nodes = {};  // the one asked about first
  std::vector<LineageEdge> edges = {};
  bool is_cut = false;  // there is more than was asked for
};

inline constexpr std::size_t kMaxArtifactFiles = 1'000'000;

// One for a store, for any thread.
class Artifacts {
 public:
  Artifacts(Store& store, BlobStore& blobs) : store_(store), blobs_(blobs) {}

  Result<std::vector<Artifact>> list(const std::string& project, const std::string& type) const;
  Result<std::vector<ArtifactVersion>> versions(const std::string& project,
                                                const std::string& name) const;
  // `word` is a version ("3", "v3"), an alias or "latest". NotFound names what there is.
  Result<ArtifactVersion> find(const std::string& project, const std::string& name,
                               const std::string& word) const;
  Result<std::vector<ArtifactFile>> files(const ArtifactVersion& version) const;
  Result<std::vector<RunKey>> users(const ArtifactVersion& version) const;
  Result<RunArtifacts> of_run(const RunKey& run) const;

  // Usage for names and paths nobody should have: empty, absolute, "..", twice.
  Result<CommitAnswer> commit(const ArtifactDraft& draft, std::int64_t now_us);
  Result<void> use(const ArtifactVersion& version, const RunKey& run, std::int64_t now_us);

  // An alias belongs to one version of the artifact: it moves.
  Result<void> set_alias(const ArtifactVersion& version, const std::string& alias);
  Result<bool> remove_alias(const std::string& project, const std::string& name,
                            const std::string& alias);
  Result<void> set_metadata(const ArtifactVersion& version, const nlohmann::json& metadata);
  Result<void> set_description(const ArtifactVersion& version, const std::string& description);

  // Frees what no other version and no run file holds; returns how many bytes that were.
  Result<std::uint64_t> remove(const ArtifactVersion& version);

  // Frees those of these blobs that nothing holds: after a run with files was deleted.
  Result<std::uint64_t> free_unused(const std::vector<std::string>& digests);

  // Nothing is freed while this is held: for who has found or put a blob and not yet said what
  // holds it.
  std::shared_lock<std::shared_mutex> keep_blobs() const { return std::shared_lock(freeing_); }

  // How many bytes of files each project may hold, in runs, versions and drafts, equal ones counted
  // once; 0: any number. Call it before anything else.
  void set_project_quota(std::uint64_t bytes) { project_quota_ = bytes; }

  // Whether a project may get so many bytes more: Io, as for a full disk, when it may not. Counts
  // them as taken. commit() asks for itself.
  Result<void> check_quota(const std::string& project, std::uint64_t more);

  // Both ways, at most `limit` nodes.
  Result<Lineage> lineage(const LineageNode& start, std::size_t limit = 200) const;

 private:
  Store& store_;
  BlobStore& blobs_;
  mutable std::shared_mutex freeing_;
  std::uint64_t project_quota_ = 0;
  std::mutex usage_mutex_;
  // At least what each project holds: what it held when it was last counted, and all since then.
  std::map<std::string, std::uint64_t> usage_;
};

}  // namespace kedge::store
