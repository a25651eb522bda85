#include "store/internal/run_index.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/query.h"

namespace kedge::store {

EntryPointer RunIndex::find(const RunKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(name_of_key(key));
  return found == by_key_.end() ? nullptr : found->second;
}

IndexSnapshot RunIndex::snapshot() const {
  const std::lock_guard lock(mutex_);
  return blocks_;
}

std::size_t RunIndex::size() const {
  const std::lock_guard lock(mutex_);
  return by_key_.size();
}

void RunIndex::set(std::size_t slot, EntryPointer entry) {
  const std::size_t block = slot / EntryBlock::kSize;
  if (block == blocks_.size()) {
    blocks_.push_back(std::make_shared<const EntryBlock>());
  }
  // Searches may be looking at the old block.
  auto copy = std::make_shared<EntryBlock>(*blocks_[block]);
  copy->entries[slot % EntryBlock::kSize] = std::move(entry);
  blocks_[block] = std::move(copy);
}

void RunIndex::put(RunEntry entry) {
  const std::lock_guard lock(mutex_);
  const std::string name = name_of_key({entry.facts.project, entry.facts.id});
  EntryPointer& place = by_key_[name];
  if (place != nullptr) {
    entry.slot = place->slot;
  } else if (!free_slots_.empty()) {
    entry.slot = free_slots_.back();
    free_slots_.pop_back();
  } else {
    entry.slot = slot_count_++;
  }
  place = std::make_shared<const RunEntry>(std::move(entry));
  set(place->slot, place);
}

void RunIndex::erase(const RunKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(name_of_key(key));
  if (found == by_key_.end()) {
    return;
  }
  free_slots_.push_back(found->second->slot);
  set(found->second->slot, nullptr);
  by_key_.erase(found);
}

std::vector<RunKey> RunIndex::find_keys(
    const std::function<bool(const RunFacts&)>& is_wanted) const {
  std::vector<RunKey> keys;
  for (const auto& block : snapshot()) {
    for (const EntryPointer& entry : block->entries) {
      if (entry != nullptr && is_wanted(entry->facts)) {
        keys.push_back({entry->facts.project, entry->facts.id});
      }
    }
  }
  return keys;
}

Result<FoundRuns> RunIndex::search(const Search& search, std::int64_t now_us) const {
  static const std::vector<std::string> kNewestFirst = {"-created", "id"};
  const RunFilter filter = KEDGE_TRY(RunFilter::compile(search.filter, *this, now_us));
  const RunOrder order =
      KEDGE_TRY(RunOrder::compile(search.order.empty() ? kNewestFirst : search.order, *this));
  const IndexSnapshot blocks = snapshot();
  std::vector<const QueriedRun*> matches;
  std::vector<const EntryPointer*> pointers;
  for (const auto& block : blocks) {
    for (const EntryPointer& entry : block->entries) {
      if (entry != nullptr && (search.project.empty() || entry->facts.project == search.project) &&
          filter.matches(*entry)) {
        matches.push_back(entry.get());
        pointers.push_back(&entry);
      }
    }
  }
  FoundRuns found{.runs = {}, .total = matches.size(), .warnings = filter.warnings()};
  for (const std::size_t place : order.sorted(matches, search.offset, search.limit)) {
    found.runs.push_back(*pointers[place]);
  }
  return found;
}

}  // namespace kedge::store
