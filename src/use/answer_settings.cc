#include "use/answer_settings.h"

#include <utility>

namespace kedge::use {

Result<void> check_settings(const AnswerSettings& settings) {
  const auto refuse = [](bool is_wrong, std::string what) -> Result<void> {
    return is_wrong ? Result<void>(fail(ErrorKind::Usage, std::move(what))) : Result<void>();
  };
  const Sampling& it = settings.sampling;
  KEDGE_TRY(refuse(settings.max_tokens < 1, "--max-tokens must be at least 1"));
  KEDGE_TRY(refuse(!(it.temperature >= 0), "--temperature must be at least 0"));
  KEDGE_TRY(refuse(it.top_k < 0, "--top-k must be at least 0"));
  KEDGE_TRY(refuse(!(it.top_p > 0 && it.top_p <= 1), "--top-p must be above 0, up to 1"));
  KEDGE_TRY(refuse(!(it.min_p >= 0 && it.min_p < 1), "--min-p must be from 0 to below 1"));
  KEDGE_TRY(refuse(!(it.repetition_penalty > 0), "--repetition-penalty must be above 0"));
  return refuse(it.temperature == 0 && (it.top_k > 0 || it.top_p < 1 || it.min_p > 0),
                "--top-k, --top-p and --min-p choose among likely tokens, but without "
                "--temperature the likeliest is always taken");
}

}  // namespace kedge::use
