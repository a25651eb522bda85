// NVIDIA's JPEG decoder, opened at run time: Huffman codes on the CPU, cosines on the GPU.
#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "device/jpeg_engine.h"

namespace kedge::device {

// "13.0"; the error says why this process cannot use it.
Result<std::string> nvjpeg_version();

// On the current device.
Result<std::unique_ptr<JpegEngine>> make_nvjpeg_engine();

}  // namespace kedge::device
