#include "core/line_splitter.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "core/utf8.h"

namespace kedge {
void LineSplitter::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    if (end > 0) {
      if (saw_return_) {
        line_.clear();
        saw_return_ = false;
      }
      const std::size_t taken = std::min(end, kMaxLineBytes - line_.size());
      line_ += bytes.substr(0, taken);
      bytes.remove_prefix(taken);
      if (line_.size() == kMaxLineBytes) {
        emit();
      }
      continue;
    }
    if (bytes.front() == '\n') {
      emit();
    } else {
      saw_return_ = true;
    }
    bytes.remove_prefix(1);
  }
}

void LineSplitter::finish() {
  if (!line_.empty()) {
    emit();
  }
}

void LineSplitter::emit() {
  on_line_(as_utf8(line_));
  line_.clear();
  saw_return_ = false;
}

}  // namespace kedge
