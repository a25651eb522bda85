// Compiled kernels, kept between processes: compiling one takes a tenth of a second or more.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/result.h"
#include "gpu/plugin.h"

namespace kedge::gpu {

// A compiled source; its kernels are found by name.
class Program {
 public:
  // From ${XDG_CACHE_HOME:-~/.cache}/kedge/kernels when it is there; `name` is for messages.
  static Result<Program> make(Plugin& plugin, const std::string& source, const std::string& name);

  Result<std::unique_ptr<Kernel>> kernel(const std::string& function) const;

 private:
  Program(Plugin& plugin, std::string code) : plugin_(&plugin), code_(std::move(code)) {}

  Plugin* plugin_;
  std::string code_;
};

}  // namespace kedge::gpu
