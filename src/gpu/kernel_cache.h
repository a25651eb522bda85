// Compiled kernels, kept between processes: compiling one takes a tenth of a second or more.
#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "gpu/plugin.h"

namespace kedge::gpu {

// `function` of `source`, from ${XDG_CACHE_HOME:-~/.cache}/kedge/kernels when it is there.
Result<std::unique_ptr<Kernel>> make_kernel(Plugin& plugin, const std::string& source,
                                            const std::string& function);

}  // namespace kedge::gpu
