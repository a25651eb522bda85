// The verbs of `kedge-train`, one file each.
#pragma once

#include <span>
#include <string>

#include "core/file.h"
#include "core/result.h"

namespace kedge::cli {

struct Invocation {
  std::span<const std::string> args;  // after the verb
  int argc = 0;                       // the whole command line, for the record
  const char* const* argv = nullptr;
};

// The model that a user means: a run or checkpoint folder, or a run's id, name or PROJECT/ID under
// runs/.
Result<Path> find_model(const std::string& word);

Result<void> run_train(const Invocation& invocation);
Result<void> run_eval(const Invocation& invocation);
Result<void> run_ensemble(const Invocation& invocation);
Result<void> run_predict(const Invocation& invocation);
Result<void> run_generate(const Invocation& invocation);
Result<void> run_chat(const Invocation& invocation);
Result<void> run_serve(const Invocation& invocation);
Result<void> run_score(const Invocation& invocation);
Result<void> run_export(const Invocation& invocation);
Result<void> run_merge(const Invocation& invocation);
Result<void> run_verify_resume(const Invocation& invocation);
Result<void> run_ckpt_estimate(const Invocation& invocation);
Result<void> run_list_torch(const Invocation& invocation);

}  // namespace kedge::cli
