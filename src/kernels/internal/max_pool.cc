#include "kernels/internal/max_pool.h"

#include <cstdint>

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

#include "kernels/internal/cuda_source.h"
#include "kernels/internal/kernel_cache.h"

namespace kedge::kernels {
namespace {

constexpr unsigned kMaxPoolThreads = 256;
constexpr std::int64_t kChannelsOfThread = 8;

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// A thread takes eight channels of one field. Fields are whole: what is left over at the right and
// the bottom of an odd image is in none, and its gradient is zero; the field beside it writes that.
constexpr char kMaxPoolSource[] = R"cuda(
struct Images {
  int height, width, channels;
};

struct Field {
  int64 pixels[4];  // where the first of the eight channels lies
  bool is_beside_column, is_above_row;  // that no field holds
};

__device__ __forceinline__ Field field_of(const Images& images, int64 unit) {
  const int groups = images.channels / 8;
  const int64 field = unit / groups;
  const int half_width = images.width / 2;
  const int half_height = images.height / 2;
  const int64 image = field / (half_width * half_height);
  const int within = field % (half_width * half_height);
  const int y = within / half_width * 2;
  const int x = within % half_width * 2;
  const int64 row = image * images.height + y;
  const int64 first = (row * images.width + x) * images.channels + unit % groups * 8;
  const int64 line = static_cast<int64>(images.width) * images.channels;
  return {{first, first + images.channels, first + line, first + line + images.channels},
          x + 3 == images.width,
          y + 3 == images.height};
}

extern "C" __global__ void forward(const bfloat16* x, bfloat16* y, int64 units, int height,
                                   int width, int channels) {
  const int64 unit = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (unit >= units) {
    return;
  }
  const Field field = field_of({height, width, channels}, unit);
  Eight best = load(x + field.pixels[0]);
#pragma unroll
  for (int k = 1; k < 4; ++k) {
    const Eight other = load(x + field.pixels[k]);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      best.v[i] = fmaxf(best.v[i], other.v[i]);
    }
  }
  store(y + unit * 8, best);
}

// The first of equal pixels gets the gradient, as in PyTorch.
extern "C" __global__ void backward(const bfloat16* x, const bfloat16* dy, bfloat16* dx,
                                    int64 units, int height, int width, int channels) {
  const int64 unit = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (unit >= units) {
    return;
  }
  const Field field = field_of({height, width, channels}, unit);
  Eight pixels[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    pixels[k] = load(x + field.pixels[k]);
  }
  const Eight upstream = load(dy + unit * 8);
  int which[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    which[i] = 0;
    float best = pixels[0].v[i];
#pragma unroll
    for (int k = 1; k < 4; ++k) {
      if (pixels[k].v[i] > best) {
        best = pixels[k].v[i];
        which[i] = k;
      }
    }
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    Eight gradient;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      gradient.v[i] = which[i] == k ? upstream.v[i] : 0.0f;
    }
    store(dx + field.pixels[k], gradient);
  }
  const int64 line = static_cast<int64>(width) * channels;
  if (field.is_beside_column) {
    store(dx + field.pixels[1] + channels, Eight{});
    store(dx + field.pixels[3] + channels, Eight{});
  }
  if (field.is_above_row) {
    store(dx + field.pixels[2] + line, Eight{});
    store(dx + field.pixels[3] + line, Eight{});
  }
  if (field.is_beside_column && field.is_above_row) {
    store(dx + field.pixels[3] + line + channels, Eight{});
  }
}

// A thread takes eight channels of an image.
extern "C" __global__ void image_forward(const bfloat16* x, bfloat16* y, int64 units, int pixels,
                                         int channels) {
  const int64 unit = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (unit >= units) {
    return;
  }
  const int groups = channels / 8;
  const bfloat16* from = x + unit / groups * pixels * channels + unit % groups * 8;
  Eight best = load(from);
  for (int pixel = 1; pixel < pixels; ++pixel) {
    const Eight other = load(from + static_cast<int64>(pixel) * channels);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      best.v[i] = fmaxf(best.v[i], other.v[i]);
    }
  }
  store(y + unit * 8, best);
}

extern "C" __global__ void image_backward(const bfloat16* x, const bfloat16* y, const bfloat16* dy,
                                          bfloat16* dx, int64 units, int pixels, int channels) {
  const int64 unit = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (unit >= units) {
    return;
  }
  const int groups = channels / 8;
  const int64 first = unit / groups * pixels * channels + unit % groups * 8;
  const Eight best = load(y + unit * 8);
  Eight upstream = load(dy + unit * 8);
  for (int pixel = 0; pixel < pixels; ++pixel) {
    const int64 at = first + static_cast<int64>(pixel) * channels;
    const Eight value = load(x + at);
    Eight gradient;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const bool is_best = value.v[i] == best.v[i];
      gradient.v[i] = is_best ? upstream.v[i] : 0.0f;
      upstream.v[i] = is_best ? 0.0f : upstream.v[i];
    }
    store(dx + at, gradient);
  }
}
)cuda";

device::Grid grid_of(std::int64_t units) {
  return {.blocks = static_cast<unsigned>((units + kMaxPoolThreads - 1) / kMaxPoolThreads),
          .threads = kMaxPoolThreads};
}

struct Launch {
  std::int64_t units = 0;
  int height = 0;
  int width = 0;
  int channels = 0;

  explicit Launch(const at::Tensor& x)
      : units(x.size(0) * (x.size(2) / 2) * (x.size(3) / 2) * x.size(1) / kChannelsOfThread),
        height(static_cast<int>(x.size(2))),
        width(static_cast<int>(x.size(3))),
        channels(static_cast<int>(x.size(1))) {}

  device::Grid grid() const { return grid_of(units); }
};

class MaxPoolFunction : public torch::autograd::Function<MaxPoolFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, MaxPoolKernels* kernels) {
    const Launch launch(x);
    at::Tensor y = torch::empty({x.size(0), x.size(1), x.size(2) / 2, x.size(3) / 2}, x.options(),
                                at::MemoryFormat::ChannelsLast);
    (*kernels->forward)(launch.grid(), x.const_data_ptr(), y.mutable_data_ptr(), launch.units,
                        launch.height, launch.width, launch.channels);
    ctx->save_for_backward({x});
    ctx->saved_data["kernels"] = reinterpret_cast<std::int64_t>(kernels);
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    auto* kernels = reinterpret_cast<MaxPoolKernels*>(ctx->saved_data["kernels"].toInt());
    const at::Tensor x = ctx->get_saved_variables().front();
    const at::Tensor dy = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor dx = torch::empty_like(x);
    const Launch launch(x);
    (*kernels->backward)(launch.grid(), x.const_data_ptr(), dy.const_data_ptr(),
                         dx.mutable_data_ptr(), launch.units, launch.height, launch.width,
                         launch.channels);
    return {dx, {}};
  }
};

struct ImageLaunch {
  std::int64_t units = 0;
  int pixels = 0;
  int channels = 0;

  explicit ImageLaunch(const at::Tensor& x)
      : units(x.size(0) * x.size(1) / kChannelsOfThread),
        pixels(static_cast<int>(x.size(2) * x.size(3))),
        channels(static_cast<int>(x.size(1))) {}

  device::Grid grid() const { return grid_of(units); }
};

class MaxOfImageFunction : public torch::autograd::Function<MaxOfImageFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, MaxPoolKernels* kernels) {
    const ImageLaunch launch(x);
    at::Tensor y = torch::empty({x.size(0), x.size(1)}, x.options());
    (*kernels->image_forward)(launch.grid(), x.const_data_ptr(), y.mutable_data_ptr(), launch.units,
                              launch.pixels, launch.channels);
    ctx->save_for_backward({x, y});
    ctx->saved_data["kernels"] = reinterpret_cast<std::int64_t>(kernels);
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    auto* kernels = reinterpret_cast<MaxPoolKernels*>(ctx->saved_data["kernels"].toInt());
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor dy = gradients[0].contiguous();
    const at::Tensor dx = torch::empty_like(x);
    const ImageLaunch launch(x);
    (*kernels->image_backward)(launch.grid(), x.const_data_ptr(), saved[1].const_data_ptr(),
                               dy.const_data_ptr(), dx.mutable_data_ptr(), launch.units,
                               launch.pixels, launch.channels);
    return {dx, {}};
  }
};

}  // namespace

Result<MaxPoolKernels> make_max_pool_kernels(device::Plugin& plugin) {
  const Program program =
      KEDGE_TRY(Program::make(plugin, kCudaPrelude + kMaxPoolSource, "max_pool"));
  return MaxPoolKernels{.forward = KEDGE_TRY(program.kernel("forward")),
                        .backward = KEDGE_TRY(program.kernel("backward")),
                        .image_forward = KEDGE_TRY(program.kernel("image_forward")),
                        .image_backward = KEDGE_TRY(program.kernel("image_backward"))};
}

bool can_max_pool(const at::Tensor& x) {
  return x.scalar_type() == at::kBFloat16 && x.dim() == 4 &&
         x.is_contiguous(at::MemoryFormat::ChannelsLast) && x.size(1) % kChannelsOfThread == 0 &&
         x.size(2) >= 2 && x.size(3) >= 2 && x.numel() > 0;
}

at::Tensor max_pool(MaxPoolKernels& kernels, const at::Tensor& x) {
  return MaxPoolFunction::apply(x, &kernels);
}

at::Tensor max_of_image(MaxPoolKernels& kernels, const at::Tensor& x) {
  return MaxOfImageFunction::apply(x, &kernels);
}

}  // namespace kedge::kernels
