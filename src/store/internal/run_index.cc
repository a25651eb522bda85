#include "store/internal/run_index.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/internal/scoped_keys.h"
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

void RunIndex::fill(std::vector<RunEntry> entries) {
  const std::lock_guard lock(mutex_);
  by_key_.reserve(entries.size());
  projects_of_.reserve(entries.size());
  for (std::size_t begin = 0; begin < entries.size(); begin += EntryBlock::kSize) {
    auto block = std::make_shared<EntryBlock>();
    const std::size_t end = std::min(begin + EntryBlock::kSize, entries.size());
    for (std::size_t slot = begin; slot < end; ++slot) {
      entries[slot].slot = slot;
      auto entry = std::make_shared<const RunEntry>(std::move(entries[slot]));
      const RunFacts& facts = entry->facts;
      by_key_.emplace(name_of_key({facts.project, facts.id}), entry);
      projects_of_[facts.id].insert(facts.project);
      block->entries[slot - begin] = std::move(entry);
    }
    blocks_.push_back(std::move(block));
  }
  slot_count_ = entries.size();
}

void RunIndex::put(RunEntry entry) {
  const std::lock_guard lock(mutex_);
  put_locked(std::move(entry));
}

void RunIndex::put_locked(RunEntry entry) {
  const RunKey key{entry.facts.project, entry.facts.id};
  EntryPointer& place = by_key_[name_of_key(key)];
  if (place != nullptr) {
    entry.slot = place->slot;
  } else if (!free_slots_.empty()) {
    entry.slot = free_slots_.back();
    free_slots_.pop_back();
  } else {
    entry.slot = slot_count_++;
  }
  if (place == nullptr) {
    projects_of_[key.id].insert(key.project);
  }
  place = std::make_shared<const RunEntry>(std::move(entry));
  set(place->slot, place);
}

void RunIndex::erase(const RunKey& key) {
  const std::lock_guard lock(mutex_);
  erase_locked(key);
}

void RunIndex::erase_locked(const RunKey& key) {
  const auto found = by_key_.find(name_of_key(key));
  if (found == by_key_.end()) {
    return;
  }
  free_slots_.push_back(found->second->slot);
  set(found->second->slot, nullptr);
  by_key_.erase(found);
  const auto projects = projects_of_.find(key.id);
  projects->second.erase(key.project);
  if (projects->second.empty()) {
    projects_of_.erase(projects);
  }
}

std::vector<EntryPointer> RunIndex::find_all(const std::string& id) const {
  std::vector<EntryPointer> entries;
  {
    const std::lock_guard lock(mutex_);
    const auto found = projects_of_.find(id);
    if (found == projects_of_.end()) {
      return entries;
    }
    for (const std::string& project : found->second) {
      entries.push_back(by_key_.at(name_of_key({project, id})));
    }
  }
  std::ranges::sort(entries, {}, [](const EntryPointer& entry) { return entry->row; });
  return entries;
}

void RunIndex::edit_project(const std::string& project,
                            const std::function<void(RunFacts&)>& edit) {
  const std::lock_guard lock(mutex_);
  std::vector<EntryPointer> edited;
  for (const auto& [name, entry] : by_key_) {
    if (entry->facts.project == project) {
      edited.push_back(entry);
    }
  }
  for (const EntryPointer& entry : edited) {
    erase_locked({project, entry->facts.id});
    RunEntry copy = *entry;
    edit(copy.facts);
    put_locked(std::move(copy));
  }
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

namespace {

bool is_shown(const RunFacts& facts, const Search& search) {
  if (search.shown != Shown::All && (facts.deleted_us != 0) != (search.shown == Shown::Trash)) {
    return false;
  }
  return is_in_scope(facts, search);
}

}  // namespace

Result<FoundRuns> RunIndex::search(const Search& search, std::int64_t now_us) const {
  static const std::vector<std::string> kNewestFirst = {"-created", "id"};
  const IndexSnapshot blocks = snapshot();
  const ScopedKeys keys(*this, blocks, search);
  SearchPlan plan = search.plan ? search.plan(keys) : SearchPlan();
  const RunFilter filter = search.plan ? RunFilter::compile(plan.filter)
                                       : KEDGE_TRY(RunFilter::compile(search.filter, keys, now_us));
  const RunOrder order =
      plan.order.empty()
          ? KEDGE_TRY(RunOrder::compile(search.order.empty() ? kNewestFirst : search.order, keys))
          : RunOrder::compile(std::move(plan.order));
  std::vector<const QueriedRun*> matches;
  std::vector<const EntryPointer*> pointers;
  for (const auto& block : blocks) {
    for (const EntryPointer& entry : block->entries) {
      if (entry != nullptr && is_shown(entry->facts, search) && filter.matches(*entry)) {
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
