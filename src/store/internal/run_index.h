// All runs in memory, for lists and searches. Readers take a snapshot; the writer puts new entries
// in place of old ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "store/internal/key_table.h"
#include "store/internal/run_entry.h"
#include "store/run.h"

namespace kedge::store {

using EntryPointer = std::shared_ptr<const RunEntry>;  // shared with the searches under way

// Entries are copied by blocks: one changed run copies one block, a snapshot copies only pointers
// to blocks.
struct EntryBlock {
  static constexpr std::size_t kSize = 256;
  std::array<EntryPointer, kSize> entries;
};

using IndexSnapshot = std::vector<std::shared_ptr<const EntryBlock>>;

struct FoundRuns {
  std::vector<EntryPointer> runs;
  std::size_t total = 0;
  std::vector<std::string> warnings;
};

class RunIndex final : public QueryKeys {
 public:
  KeyTable config_keys;
  KeyTable metric_keys;
  KeyTable label_keys;
  ValuePool values;

  std::optional<KeyId> find_config(std::string_view key) const override {
    return config_keys.find(key);
  }

  std::optional<KeyId> find_metric(std::string_view key) const override {
    return metric_keys.find(key);
  }

  std::optional<KeyId> find_label(std::string_view key) const override {
    return label_keys.find(key);
  }

  std::vector<std::string> config_names() const override { return config_keys.names(); }

  std::vector<std::string> metric_names() const override { return metric_keys.names(); }

  std::vector<std::string> label_names() const override { return label_keys.names(); }

  EntryPointer find(const RunKey& key) const;
  // Of this id in any project, the oldest first.
  std::vector<EntryPointer> find_all(const std::string& id) const;
  IndexSnapshot snapshot() const;
  std::size_t size() const;

  // Of a store that starts: all of them at once, in this order. Nothing was there before.
  void fill(std::vector<RunEntry> entries);
  // A run that is there already keeps its place.
  void put(RunEntry entry);
  void erase(const RunKey& key);

  std::vector<RunKey> find_keys(const std::function<bool(const RunFacts&)>& is_wanted) const;

  // Changes the facts of all runs of a project; the project's name may be among them.
  void edit_project(const std::string& project, const std::function<void(RunFacts&)>& edit);

  Result<FoundRuns> search(const Search& search, std::int64_t now_us) const;

 private:
  static std::string name_of_key(const RunKey& key) { return key.project + "/" + key.id; }

  void set(std::size_t slot, EntryPointer entry);
  void put_locked(RunEntry entry);
  void erase_locked(const RunKey& key);

  mutable std::mutex mutex_;
  IndexSnapshot blocks_;
  std::unordered_map<std::string, EntryPointer> by_key_;
  std::unordered_map<std::string, std::set<std::string>> projects_of_;  // by run id
  std::vector<std::size_t> free_slots_;
  std::size_t slot_count_ = 0;
};

}  // namespace kedge::store
