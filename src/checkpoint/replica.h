// Replicas are checkpoints in memory, for processes that are lost while their machine is not: every
// machine of a training has its own in /dev/shm/kedge-<user>/<run>/<host>, where it outlives all
// processes. They are a short cut: whoever finds none goes on from the disk.
#pragma once

#include <optional>
#include <string>

#include "checkpoint/checkpoint.h"
#include "checkpoint/library.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {

inline constexpr const char* kMemoryFolder = "/dev/shm";

// Where this user's replicas of all runs lie on this machine.
Path replicas_of_user(const Path& memory = kMemoryFolder);

// Of one run on one host. `run` must name this run and no other that ever had its id.
Path replica_folder(const Path& all, const std::string& run, const std::string& host);

// Makes `folder` below `all`, readable for this user alone; an error where `all` is somebody
// else's. What no process has touched for a day is removed first: nobody was left to do it.
Result<void> make_replica_folder(const Path& all, const Path& folder);

// The newest whose manifest is whole; open_replica() reads its bytes.
std::optional<Entry> find_replica(const Path& folder);
Result<Checkpoint> open_replica(const Path& path);

// Puts a replica that came from another machine into `folder`, file by file: nobody sees it before
// commit().
class ReplicaImport {
 public:
  ReplicaImport(const Path& folder, const std::string& name);
  ReplicaImport(const ReplicaImport&) = delete;
  ReplicaImport& operator=(const ReplicaImport&) = delete;
  ~ReplicaImport();

  // Bytes for the end of a file.
  Result<void> append(const std::string& file, std::span<const std::uint8_t> bytes);
  Result<Path> commit();

 private:
  Path path_;
  Path fresh_;
};

// Removes the folder, and those above it up to `all` that are empty then.
void remove_replicas(const Path& folder);

}  // namespace kedge::checkpoint
