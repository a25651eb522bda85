// Records device work as a CUDA graph.
#pragma once

#include <functional>
#include <memory>

#include "gpu/plugin.h"

namespace kedge::gpu {

// The current stream must not be the default one.
std::unique_ptr<Graph> record_graph(const std::function<void()>& work);

}  // namespace kedge::gpu
