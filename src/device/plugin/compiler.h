// Compiles CUDA sources at run time with the NVRTC that libtorch brings, and launches them. Both
// libraries have stable C interfaces and are opened by name, so no toolkit is needed to build this.
#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "device/plugin.h"

namespace kedge::device {

class Compiler {
 public:
  virtual ~Compiler() = default;
  virtual std::string target() const = 0;
  virtual Result<std::string> compile(const std::string& source, const std::string& name) = 0;
  virtual Result<std::unique_ptr<Kernel>> load(const std::string& code,
                                               const std::string& function) = 0;
};

// For the current device.
Result<std::unique_ptr<Compiler>> make_compiler();

}  // namespace kedge::device
