// How long something has taken.
#pragma once

#include <chrono>

namespace kedge {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  }

  void restart() { started_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace kedge
