// A real file system of a few KiB for tests of what happens when the disk is full. Mounting needs
// root: elsewhere is_mounted() is false and the test skips itself.
#pragma once

#include <string>

#include <sys/mount.h>

#include "core/file.h"
#include "core/scratch_folder.h"

namespace kedge {

class SmallDisk {
 public:
  explicit SmallDisk(std::size_t size_kib) {
    const std::string options = "size=" + std::to_string(size_kib) + "k";
    is_mounted_ = ::mount("kedge-test", folder_.path().c_str(), "tmpfs", 0, options.c_str()) == 0;
  }

  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  ~SmallDisk() {
    if (is_mounted_) {
      ::umount2(folder_.path().c_str(), MNT_DETACH);
    }
  }

  bool is_mounted() const { return is_mounted_; }

  const Path& path() const { return folder_.path(); }

 private:
  ScratchFolder folder_;
  bool is_mounted_ = false;
};

}  // namespace kedge
