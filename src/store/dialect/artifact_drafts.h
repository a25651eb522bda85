// Versions of artifacts on their way: a client announces one, sends its files one by one, then its
// manifest, and commits. What the client said of a version stays afterwards: its own ids for it,
// the manifest word for word, tags.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "store/artifacts.h"
#include "store/store.h"

namespace kedge::store {

struct VersionDraft {
  std::int64_t id = 0;
  std::string project = {};
  std::string name = {};
  std::string type = {};
  std::string digest = {};  // the client's own, of its manifest
  std::string description = {};
  nlohmann::json metadata = nlohmann::json::object();
  std::vector<std::string> aliases = {};
  std::vector<std::string> tags = {};
  std::optional<std::int64_t> ttl_s = {};
  std::optional<RunKey> made_by = {};
  std::string client_id = {};
  std::string sequence_client_id = {};
  std::optional<std::int64_t> history_step = {};
  bool is_deleted = false;
  std::optional<std::int64_t> version = {};  // nothing: it is pending
  std::string manifest = {};                 // a blob; empty: it has not come
  std::int64_t created_us = 0;
  std::int64_t changed_us = 0;
};

struct DraftFile {
  std::string path = {};
  std::string md5 = {};     // base64
  std::string digest = {};  // of the blob; empty: it has not come
  std::uint64_t size = 0;
};

// Only what is given changes.
struct DraftPatch {
  std::optional<std::string> description = {};
  std::optional<nlohmann::json> metadata = {};
  std::optional<std::int64_t> ttl_s = {};
  std::vector<std::string> added_tags = {};
  std::vector<std::string> removed_tags = {};
};

// One for a store, for any thread.
class ArtifactDrafts {
 public:
  ArtifactDrafts(Store& store, Artifacts& artifacts) : store_(store), artifacts_(artifacts) {}

  Result<VersionDraft> create(const VersionDraft& draft, std::int64_t now_us);
  Result<VersionDraft> find(std::int64_t id) const;  // NotFound
  Result<std::optional<VersionDraft>> find_version(const ArtifactVersion& version) const;
  // The newest committed one of these ids; one of a version first.
  Result<std::optional<VersionDraft>> find_client(const std::string& client_id) const;

  Result<std::vector<DraftFile>> files(std::int64_t draft) const;
  Result<void> put_files(std::int64_t draft, const std::vector<DraftFile>& files);
  // A version that is complete keeps the one it has.
  Result<void> set_manifest(std::int64_t draft, const std::string& digest);

  // The MD5 (base64) of a blob, as far as it was written down.
  Result<std::optional<std::string>> find_md5(const std::string& digest) const;
  Result<void> put_md5(const std::string& digest, const std::string& md5) const;

  // Some blob with this MD5, and a draft that has it: of `project`, or of any where that is empty.
  struct KnownBytes {
    std::string digest;
    std::uint64_t size = 0;
    std::int64_t draft = 0;
  };

  Result<std::optional<KnownBytes>> find_bytes(const std::string& md5,
                                               const std::string& project) const;

  // The draft becomes the next version of its artifact. Again: the same version.
  Result<VersionDraft> commit(std::int64_t id, const std::vector<ArtifactFile>& files,
                              std::int64_t now_us);
  Result<VersionDraft> patch(std::int64_t id, const DraftPatch& patch, std::int64_t now_us);
  // The version, if it is one, and the draft.
  Result<void> remove(std::int64_t id);

 private:
  Store& store_;
  Artifacts& artifacts_;
};

}  // namespace kedge::store
