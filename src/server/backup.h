// Copies of a store that are whole, also while a server owns it, and the proof that a store is
// sound. Copies are for SQLite; PostgreSQL has its own tools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::server {

// Told after each blob: how many are done, of how many.
using BlobProgress = std::function<void(std::size_t done, std::size_t total)>;

struct StoreCopy {
  Path from;               // a --data folder, or a backup
  std::string from_blobs;  // as --blobs; empty: `from`/blobs
  Path to;
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

// The database as it is at one moment, and every blob it refers to, checked on the way. The copy's
// kedge.db gets its name last: where it is, the copy is whole.
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

// SQLite's own checks of the database, and that every blob that either database refers to is there.
Result<CheckReport> check_store(const StoreCheck& check);

}  // namespace kedge::server
