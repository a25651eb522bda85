// RunWatch takes run folders on a (shared) file system into the store while they grow. Network file
// systems tell nobody of changes, so it looks: often at runs that change, seldom at those that have
// been quiet for long; where the kernel does tell (inotify), it looks at once. A watched folder may
// be a symbolic link; below it none is followed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/file.h"
#include "server/ingest.h"
#include "store/blobs.h"
#include "store/store.h"

namespace kedge::server {

struct WatchOptions {
  std::vector<Path> dirs;  // each holds <project>/<run>/; they need not be there yet
  std::chrono::milliseconds shortest = std::chrono::seconds(1);  // between looks at a busy run
  std::chrono::milliseconds longest = std::chrono::seconds(60);  // and at a quiet one
  bool use_inotify = true;
};

struct WatchCounts {
  std::size_t runs = 0;       // known
  std::uint64_t looks = 0;    // at run folders
  std::uint64_t records = 0;  // taken in
};

class RunWatch {
 public:
  // `blobs` may be null: then media are left in their folders. Both must live longer. Trouble with
  // one run is told once and keeps no other from being taken in.
  RunWatch(store::Store& store, store::BlobStore* blobs, WatchOptions options, NowUs now_us);
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;
  ~RunWatch();  // stops, after the look it is in

  WatchCounts counts() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge::server
