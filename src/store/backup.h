// Copies of a store that are whole, also while a server owns it, and the proof that a store is
// sound. A copy is a folder with SQLite's kedge.db and the blobs, wherever the store itself lies:
// so it can be restored into any database.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::store {

// Told after each blob: how many are done, of how many.
using BlobProgress = std::function<void(std::size_t done, std::size_t total)>;

struct StoreCopy {
  Path from;                    // a --data folder, or a backup
  std::string from_db = {};     // as --db; empty: SQLite in `from`
  std::string from_blobs = {};  // as --blobs; empty: `from`/blobs
  Path to;
  std::string to_db = {};    // as --db; empty: SQLite in `to`
  bool may_replace = false;  // an older copy that is there
  BlobProgress on_blob = {};
};

struct CopyReport {
  std::uint64_t database_bytes = 0;
  std::size_t blobs = 0;
  std::size_t blobs_copied = 0;  // the others were there
  std::uint64_t bytes_copied = 0;
  std::vector<std::string> problems = {};  // blobs that are gone or damaged in the original
};

// The database as it is at one moment, and every blob it refers to, checked on the way. The
// database comes last, at once: where it is, the copy is whole. Usage when there is a store
// already.
Result<CopyReport> copy_store(const StoreCopy& copy);

struct CheckReport {
  std::size_t runs = 0;
  std::size_t blobs = 0;
  std::vector<std::string> problems = {};
};

struct StoreCheck {
  Path data;
  std::string db = {};     // as --db; empty: SQLite in `data`
  std::string blobs = {};  // as --blobs; empty: `data`/blobs
  bool is_quick = false;   // only that every blob is there, not that each is what its name says
  BlobProgress on_blob = {};
};

// The database's own checks of itself, and that every blob it refers to is there.
Result<CheckReport> check_store(const StoreCheck& check);

}  // namespace kedge::store
