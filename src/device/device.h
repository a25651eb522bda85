// The device a training runs on, and what it can do. CUDA is opened at run time: the same binary
// runs on machines with and without it.
#pragma once

#include <cstdint>
#include <string>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <nlohmann/json_fwd.hpp>

#include "config/train_config.h"
#include "core/result.h"
#include "device/context.h"

namespace kedge::device {

// The device, with a word to the user when a GPU was hoped for and is not there. Unavailable: one
// was asked for by name and cannot be had. The plugin must have been opened (plugin.h) before this
// asks libtorch, which remembers the answer for the life of the process.
Result<c10::Device> choose_device(config::DeviceChoice choice);

// The device and the precision that the config asks for; plain operations.
Result<Context> make_context(const config::TrainConfig& config);

// "NVIDIA H200, 139.8 GiB, compute capability 9.0" or the CPU's name and cores.
std::string describe_device(c10::Device device);
nlohmann::json device_facts(c10::Device device);

// The precision that `auto` stands for on this device, and a warning where a wish cannot be met.
config::Precision resolve_precision(config::Precision wish, c10::Device device);

// Which kernel libtorch asks first for attention on a GPU, for the whole process.
void prefer_attention(config::AttentionKernel kernel);

// Most memory used so far: of the GPU's allocator, or the process's resident set.
std::uint64_t peak_memory_bytes(c10::Device device);

// What is free: of the GPU, or of the machine.
std::uint64_t free_memory_bytes(c10::Device device);

// Waits until the device has done all it was given; nothing on a CPU. What failed there meanwhile
// is thrown here.
void synchronize(c10::Device device);

}  // namespace kedge::device
