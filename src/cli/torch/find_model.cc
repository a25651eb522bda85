#include <filesystem>
#include <string>
#include <system_error>

#include "cli/torch/verbs.h"
#include "track/run_list.h"

namespace kedge::cli {

Result<Path> find_model(const std::string& word) {
  std::error_code ignored;
  if (std::filesystem::exists(word, ignored)) {
    return Path(word);
  }
  const auto run = track::find_run_folder(word, "runs");
  // What looks like a path is missed as one.
  return !run && run.error().kind == ErrorKind::NotFound && word.contains('/') ? Path(word) : run;
}

}  // namespace kedge::cli
