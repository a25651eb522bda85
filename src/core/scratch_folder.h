// A folder for a test's files, gone when the test ends. It lies in memory where it can, because
// thousands of small files are slow on a disk.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <unistd.h>

#include "core/file.h"
#include "core/result.h"

namespace kedge {

class ScratchFolder {
 public:
  ScratchFolder() {
    for (const char* parent : {"/dev/shm", "/tmp", "."}) {
      std::string name = std::string(parent) + "/kedge-test-XXXXXX";
      if (::mkdtemp(name.data()) != nullptr) {
        path_ = name;
        return;
      }
    }
    KEDGE_CHECK(false, "tests need a folder to write to");
  }

  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  ~ScratchFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }

  const Path& path() const { return path_; }

  Path operator/(const Path& name) const { return path_ / name; }

 private:
  Path path_;
};

}  // namespace kedge
