// Records device work as a CUDA graph.
#pragma once

#include <functional>
#include <memory>

#include "device/plugin.h"

namespace kedge::device {

// The current stream must not be the default one.
std::unique_ptr<Graph> capture_graph(const std::function<void()>& work);

}  // namespace kedge::device
