#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/shared/torch_helps.h"
#include "cli/verbs.h"
#include "core/result.h"

namespace kedge::cli {

std::string kedge_train_program() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "kedge-train").string();
}

int run_in_kedge_train(const std::string& verb, Args args) {
  const VerbHelp* help = find_torch_help(verb);
  if (help == nullptr && !args.empty()) {
    help = find_torch_help(verb + " " + args.front());
  }
  if (help != nullptr && asks_for_help(args)) {
    show_help(*help);
    return kExitDone;
  }
  const std::string program = kedge_train_program();
  std::vector<std::string> words = {program, verb};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  return report({ErrorKind::Unavailable,
                 fmt::format("cannot start {}: {}", program, std::strerror(errno)),
                 "it is built beside kedge by `./dev build`; this machine may only have kedge"});
}

}  // namespace kedge::cli
