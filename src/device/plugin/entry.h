// The one function of libkedge_cuda.so that is looked up by name.
#pragma once

#include <memory>

#include "core/result.h"
#include "device/plugin.h"

namespace kedge::device {

using MakePlugin = Result<std::unique_ptr<Plugin>> (*)();

inline constexpr char kMakePlugin[] = "kedge_make_gpu_plugin";

}  // namespace kedge::device
