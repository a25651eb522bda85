// What libtorch warns of although nothing is wrong and nobody can act on it.
#pragma once

#include <c10/util/Exception.h>

namespace kedge::device {

// Passes warnings on to `next`, except that cuBLAS found no current context: autograd's own thread
// has none before its first matrix product, and libtorch makes it current there and goes on.
class QuietWarnings final : public c10::WarningHandler {
 public:
  // `next` must live longer.
  explicit QuietWarnings(c10::WarningHandler& next) : next_(next) {}

  void process(const c10::Warning& warning) override;

 private:
  c10::WarningHandler& next_;
};

// For this thread from now on. Warnings of backward() are given to the thread that called it.
void quiet_warnings();

}  // namespace kedge::device
