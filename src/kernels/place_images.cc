#include "kernels/place_images.h"

#include <utility>

#include "data/placement.h"
#include "kernels/internal/cuda_source.h"
#include "kernels/internal/kernel_cache.h"

namespace kedge::kernels {
namespace {

constexpr unsigned kPlaceThreads = 256;

// A block makes one image. The output's strides let one kernel write both memory layouts.
constexpr char kPlaceSource[] = R"cuda(
struct Colours {  // data/placement.h
  int order;
  float brightness, contrast, saturation;
};

struct Placement {
  int index, height, width, top, left, step_y, step_x, cut_top, cut_left, cut_bottom, cut_right;
  int reflect;
  Colours colours;
};

constexpr int kBrightness = 1;  // Colours::Step
constexpr int kContrast = 2;
constexpr int kMostChannels = 4;

struct Source {
  const uint8* pixels;
  int height, width, channels;
};

__device__ __forceinline__ int reflected(int at, int side) {
  const int period = side > 1 ? 2 * (side - 1) : 1;
  const int within = (at % period + period) % period;
  return within < side ? within : period - within;
}

__device__ __forceinline__ int source_value(const Source& source, const Placement& p, int y, int x,
                                            int c) {
  int from_y = p.top + y * p.step_y;
  int from_x = p.left + x * p.step_x;
  if (p.reflect) {
    from_y = reflected(from_y, source.height);
    from_x = reflected(from_x, source.width);
  }
  if (from_y < 0 || from_y >= source.height || from_x < 0 || from_x >= source.width) {
    return 0;
  }
  const int64 image = static_cast<int64>(p.index) * source.height * source.width;
  return source.pixels[(image + from_y * source.width + from_x) * source.channels + c];
}

// As PIL blends: in single precision, with a rounding after each operation, cut off at the end.
__device__ __forceinline__ int blend(int from, int to, float factor) {
  const float value = __fadd_rn(static_cast<float>(from),
                                __fmul_rn(factor, static_cast<float>(to - from)));
  return static_cast<int>(fminf(fmaxf(value, 0.0f), 255.0f));
}

__device__ __forceinline__ int luma(const int* rgb) {
  return static_cast<int>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

// One pixel of the output, its colours changed by all steps, or by those before contrast, which
// needs `mean`, the whole image's.
__device__ void coloured_pixel(const Source& source, const Placement& p, int y, int x,
                               bool is_before_contrast, int mean, int* pixel) {
  for (int c = 0; c < source.channels; ++c) {
    pixel[c] = source_value(source, p, y, x, c);
  }
  for (int order = p.colours.order; order != 0; order >>= 2) {
    const int step = order & 3;
    int from = 0;
    float factor = p.colours.brightness;
    if (step == kContrast) {
      if (is_before_contrast) {
        return;
      }
      from = mean;
      factor = p.colours.contrast;
    } else if (step != kBrightness) {
      if (source.channels != 3) {
        continue;
      }
      from = luma(pixel);
      factor = p.colours.saturation;
    }
    for (int c = 0; c < source.channels; ++c) {
      pixel[c] = blend(from, pixel[c], factor);
    }
  }
}

__device__ __forceinline__ void add_to(unsigned* total, unsigned sum) {
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_down_sync(0xffffffffu, sum, offset);
  }
  if (threadIdx.x % 32 == 0) {
    atomicAdd(total, sum);
  }
}

// The grey that contrast is measured from; 0 where contrast is not changed. All threads must call.
__device__ int contrast_mean(const Source& source, const Placement& p, unsigned* total) {
  bool has_contrast = false;
  for (int order = p.colours.order; order != 0; order >>= 2) {
    has_contrast = has_contrast || (order & 3) == kContrast;
  }
  if (!has_contrast) {
    return 0;
  }
  if (threadIdx.x == 0) {
    *total = 0;
  }
  __syncthreads();
  const int count = p.height * p.width;
  const bool is_rgb = source.channels == 3;
  unsigned sum = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    int pixel[kMostChannels];
    coloured_pixel(source, p, i / p.width, i % p.width, true, 0, pixel);
    for (int c = 0; c < (is_rgb ? 1 : source.channels); ++c) {
      sum += is_rgb ? luma(pixel) : pixel[c];
    }
  }
  add_to(total, sum);
  __syncthreads();
  const double values = static_cast<double>(is_rgb ? count : count * source.channels);
  return static_cast<int>(static_cast<double>(*total) / values + 0.5);
}

__device__ __forceinline__ int output_value(const Source& source, const Placement& p, int mean,
                                            int y, int x, int c) {
  if (p.colours.order == 0) {
    return source_value(source, p, y, x, c);
  }
  int pixel[kMostChannels];
  coloured_pixel(source, p, y, x, false, mean, pixel);
  return pixel[c];
}

template <>
__device__ __forceinline__ double from_float<double>(float value) { return value; }

template <typename T>
__device__ void place(const uint8* pixels, int height, int width, int channels,
                      const Placement* placements, const float* scale, const float* shift, T* out,
                      int64 stride_n, int64 stride_c, int64 stride_h, int64 stride_w) {
  const Source source = {pixels, height, width, channels};
  const Placement p = placements[blockIdx.x];
  __shared__ unsigned luma_sum;
  __shared__ unsigned sums[kMostChannels];
  const int mean = contrast_mean(source, p, &luma_sum);
  const bool has_cut = p.cut_top < p.cut_bottom && p.cut_left < p.cut_right;
  const int count = p.height * p.width;
  if (has_cut) {
    if (threadIdx.x < kMostChannels) {
      sums[threadIdx.x] = 0;
    }
    __syncthreads();
    for (int c = 0; c < channels; ++c) {
      unsigned sum = 0;
      for (int i = threadIdx.x; i < count; i += blockDim.x) {
        sum += output_value(source, p, mean, i / p.width, i % p.width, c);
      }
      add_to(&sums[c], sum);
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < count * channels; i += blockDim.x) {
    const int c = i % channels;
    const int y = i / channels / p.width;
    const int x = i / channels % p.width;
    const bool is_cut = has_cut && y >= p.cut_top && y < p.cut_bottom && x >= p.cut_left &&
                        x < p.cut_right;
    const int value = is_cut ? static_cast<int>((sums[c] + count / 2) / count)
                             : output_value(source, p, mean, y, x, c);
    // Two roundings, as the operations on tensors have.
    const float normal =
        __fadd_rn(__fmul_rn(static_cast<float>(value), scale[c]), shift[c]);
    out[blockIdx.x * stride_n + c * stride_c + y * stride_h + x * stride_w] =
        from_float<T>(normal);
  }
}

#define PLACE(NAME, TYPE)                                                                       \
  extern "C" __global__ void NAME(const uint8* pixels, int height, int width, int channels,     \
                                  const Placement* placements, const float* scale,              \
                                  const float* shift, TYPE* out, int64 stride_n, int64 stride_c, \
                                  int64 stride_h, int64 stride_w) {                             \
    place(pixels, height, width, channels, placements, scale, shift, out, stride_n, stride_c,   \
          stride_h, stride_w);                                                                  \
  }
PLACE(place_float, float)
PLACE(place_bfloat16, bfloat16)
PLACE(place_double, double)
)cuda";

}  // namespace

Result<PlaceImages> PlaceImages::make(device::Plugin& plugin) {
  const Program program =
      KEDGE_TRY(Program::make(plugin, kCudaPrelude + kPlaceSource, "place_images"));
  PlaceImages place;
  place.to_float_ = KEDGE_TRY(program.kernel("place_float"));
  place.to_bfloat16_ = KEDGE_TRY(program.kernel("place_bfloat16"));
  place.to_double_ = KEDGE_TRY(program.kernel("place_double"));
  return place;
}

device::Kernel& PlaceImages::kernel_for(at::ScalarType type) {
  switch (type) {
    case at::kBFloat16:
      return *to_bfloat16_;
    case at::kDouble:
      return *to_double_;
    default:
      KEDGE_CHECK(type == at::kFloat, "images are made in types that have a kernel");
      return *to_float_;
  }
}

void PlaceImages::operator()(const at::Tensor& pixels_NHWC, const at::Tensor& placements,
                             const Normalise& normalise, at::Tensor& out_BCHW) {
  device::Kernel& kernel = kernel_for(out_BCHW.scalar_type());
  kernel({.blocks = static_cast<unsigned>(out_BCHW.size(0)), .threads = kPlaceThreads},
         pixels_NHWC.const_data_ptr(), static_cast<int>(pixels_NHWC.size(1)),
         static_cast<int>(pixels_NHWC.size(2)), static_cast<int>(pixels_NHWC.size(3)),
         placements.const_data_ptr(), normalise.scale.const_data_ptr(),
         normalise.shift.const_data_ptr(), out_BCHW.mutable_data_ptr(), out_BCHW.stride(0),
         out_BCHW.stride(1), out_BCHW.stride(2), out_BCHW.stride(3));
}

}  // namespace kedge::kernels
