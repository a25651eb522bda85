#include "server/trash.h"

#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/log.h"

namespace kedge::server {
namespace {

Result<std::vector<std::string>> digests_of(const Api& api, const store::RunKey& key) {
  std::vector<std::string> digests;
  for (const store::RunFile& file : KEDGE_TRY(api.store.list_files(key))) {
    digests.push_back(file.digest);
  }
  return digests;
}

void free_blobs(const Api& api, const store::RunKey& key, const std::vector<std::string>& digests) {
  if (const auto freed = api.artifacts.free_unused(digests); !freed) {
    warn("files of {}/{} are not freed: {}", key.project, key.id, freed.error().message);
  }
}

}  // namespace

Result<void> remove_run(const Api& api, const store::RunKey& key) {
  const std::vector<std::string> digests = KEDGE_TRY(digests_of(api, key));
  KEDGE_TRY(api.store.delete_run(key));
  free_blobs(api, key, digests);
  return {};
}

Result<std::size_t> empty_trash(const Api& api, std::int64_t before_us) {
  std::vector<store::RunKey> old;
  KEDGE_TRY(api.store.scan(
      {.limit = std::numeric_limits<std::size_t>::max(), .shown = store::Shown::Trash}, before_us,
      [&](const store::FoundRun& run) {
        if (run.facts().deleted_us < before_us) {
          old.push_back({run.facts().project, run.facts().id});
        }
      }));
  std::size_t count = 0;
  for (const store::RunKey& key : old) {
    const std::vector<std::string> digests = KEDGE_TRY(digests_of(api, key));
    if (KEDGE_TRY(api.store.delete_trashed_run(key, before_us))) {
      free_blobs(api, key, digests);
      ++count;
    }
  }
  return count;
}

}  // namespace kedge::server
