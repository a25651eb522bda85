// Compiled kernels, kept between processes: compiling one takes a tenth of a second or more.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/result.h"
#include "device/plugin.h"

namespace kedge::kernels {

// A compiled source; its kernels are found by name.
class Program {
 public:
  // From ${XDG_CACHE_HOME:-~/.cache}/kedge/kernels when it is there; `name` is for messages.
  static Result<Program> make(device::Plugin& plugin, const std::string& source,
                              const std::string& name);

  Result<std::unique_ptr<device::Kernel>> kernel(const std::string& function) const;

 private:
  Program(device::Plugin& plugin, std::string code) : plugin_(&plugin), code_(std::move(code)) {}

  device::Plugin* plugin_;
  std::string code_;
};

}  // namespace kedge::kernels
