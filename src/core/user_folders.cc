#include "core/user_folders.h"

#include <cstdlib>

#include <pwd.h>
#include <unistd.h>

namespace kedge {
namespace {

bool is_set(const char* value) {
  return value != nullptr && *value != '\0';
}

// Batch systems start programs without HOME at times; the user database knows it too.
Path home_folder() {
  if (const char* home = std::getenv("HOME"); is_set(home)) {
    return home;
  }
  const passwd* const entry = ::getpwuid(::geteuid());
  return entry != nullptr && is_set(entry->pw_dir) ? entry->pw_dir : "/tmp";
}

Path folder_of(const char* variable, const char* below_home) {
  const char* const given = std::getenv(variable);
  return (is_set(given) ? Path(given) : home_folder() / below_home) / "kedge";
}

}  // namespace

Path cache_folder() {
  return folder_of("XDG_CACHE_HOME", ".cache");
}

Path config_folder() {
  return folder_of("XDG_CONFIG_HOME", ".config");
}

}  // namespace kedge
