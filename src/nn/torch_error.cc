#include "nn/torch_error.h"

#include <string_view>

#include <c10/util/Exception.h>

namespace kedge::nn {
namespace {

std::string_view trimmed(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) {
    return {};
  }
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

std::string torch_message(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  const std::string text =
      torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
  // The interpreter puts its reason last, behind the Python traceback.
  const bool is_reason_last = text.find("Traceback of TorchScript") != std::string::npos;
  std::string_view reason;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = trimmed(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (line.empty()) {
      continue;
    }
    reason = line;
    if (!is_reason_last) {
      break;
    }
  }
  return std::string(reason);
}

}  // namespace kedge::nn
