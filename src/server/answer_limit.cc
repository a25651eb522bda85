#include "server/answer_limit.h"

#include <string>

namespace kedge::server {

Result<void> check_answer(std::size_t bytes, std::string_view hint) {
  if (bytes > kMaxAnswerBytes) {
    return fail(ErrorKind::Usage, "the answer would have more than 64 MiB", std::string(hint));
  }
  return {};
}

}  // namespace kedge::server
