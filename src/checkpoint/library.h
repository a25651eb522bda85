// The checkpoints of one run, in one or two folders: which there are, which one to resume from,
// and which may go. Truth is in the manifests; the links "last" and "best" are for people.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {

struct Folders {
  Path durable;
  Path fast = {};  // of this run alone; empty: there is none
};

struct Entry {
  Path path;
  std::string name;
  std::int64_t step = -1;       // state.step; -1 where the state has none
  std::int64_t epoch = -1;      // state.epoch
  std::optional<double> score;  // state.score
  bool more_is_better = true;   // state.more_is_better, of the score
  std::uint64_t bytes = 0;
  std::string created;
  bool is_fast = false;  // lies in the fast folder
};

// A checkpoint that cannot be used, and why.
struct Bad {
  Path path;  // where it lies now
  Error error;
};

struct Listing {
  std::vector<Entry> entries;  // oldest first, by step; of one step in both folders, durable last
  std::vector<Bad> bad;        // whose manifest is missing or damaged
};

// Reads manifests only. Temporary folders, links, .bad ones and folders that are no checkpoints are
// left out. A folder that does not exist is empty; one that cannot be read is an error, because
// "no checkpoints" would start a run from the beginning.
Result<Listing> list_checkpoints(const Folders& folders);

struct Newest {
  std::optional<Checkpoint> checkpoint;  // none: there is none that is whole
  Entry entry = {};
  std::vector<Bad> bad = {};  // newer ones that were passed over
};

// The newest checkpoint that opens and verifies. Damaged ones on the way are renamed to <name>.bad,
// never deleted; those that could not be read (an I/O error) stay where they are. When every one
// that is left could not be read, that is the error. The caller is the only writer of the folders.
Result<Newest> open_newest(const Folders& folders);

// Entries come as list_checkpoints orders them. Of equal scores the older is best.
const Entry* find_best(std::span<const Entry> entries, bool more_is_better);

struct Retention {
  std::int64_t keep_last = 2;
  std::int64_t keep_best = 1;
  bool more_is_better = true;
  // The first checkpoint with floor(step / n) = 1, 2, 3, ... stays for ever; 0: none does.
  std::int64_t keep_every_steps = 0;
  std::int64_t keep_every_epochs = 0;
};

// Which may go. The newest is never among them.
std::vector<Entry> choose_expired(std::span<const Entry> entries, const Retention& retention);

// Removed under another name, so that a crash in between leaves no damaged checkpoint.
Result<void> remove_checkpoint(const Entry& entry);

// Points the links "last" and "best" in `folder` at entries of it; each is replaced atomically.
Result<void> update_links(const Path& folder, std::span<const Entry> entries, bool more_is_better);

struct NameFields {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::uint64_t seed = 0;
  std::string run = {};
};

// "step-{step:08}" -> "step-00000120". An error for a pattern that does not parse and for names
// that would leave the folder, hide in it, or look like this room's own temporary names and links.
Result<std::string> render_name(std::string_view pattern, const NameFields& fields);

}  // namespace kedge::checkpoint
