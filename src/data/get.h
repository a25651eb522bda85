// `kedge data get`: public data sets fetched from their original address or a mirror, verified
// against digests pinned here, and kept in a form that opens at once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/process.h"
#include "core/result.h"

namespace kedge::data {

// The names that get_data knows.
std::vector<std::string> list_gettable();

struct GetOptions {
  bool use_original = true;  // false: mirrors only
  // How programs are started; tests put a fake here.
  std::function<Result<ProcessResult>(const Command&)> run = run_process;
};

// The folder <root>/<name> with the whole, verified data set. What is there and verified stays as
// it is; otherwise the folder appears whole or not at all. NotFound: no address and no mirror
// gave it, with what each of them said; Corrupt: what came is not what it should be, and is thrown
// away.
Result<Path> get_data(const std::string& name, const Path& root, const GetOptions& options = {});

}  // namespace kedge::data
