// Cuts what a program prints into lines as a person would have seen them: a carriage return begins
// the line anew (progress bars), bytes that are no UTF-8 become U+FFFD, very long lines are cut.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace kedge {

class LineSplitter {
 public:
  static constexpr std::size_t kMaxLineBytes = std::size_t{64} << 10U;

  explicit LineSplitter(std::function<void(std::string_view line)> on_line)
      : on_line_(std::move(on_line)) {}

  void add(std::string_view bytes);

  // What has no line end yet, when there is any.
  void finish();

 private:
  void emit();

  std::function<void(std::string_view line)> on_line_;
  std::string line_;
  bool saw_return_ = false;  // the next byte begins the line anew, unless it ends it
};

}  // namespace kedge
