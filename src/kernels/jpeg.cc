#include "kernels/jpeg.h"

#include <utility>

#include <c10/core/StreamGuard.h>
#include <c10/util/Exception.h>
#include <torch/types.h>

#include "kernels/internal/cuda_source.h"
#include "kernels/internal/kernel_cache.h"

namespace kedge::kernels {
namespace {

constexpr unsigned kJpegThreads = 256;

// A thread makes one pixel. The weights of smoothing and of colours are libjpeg's (jdsample.c,
// jdcolor.c), in whole numbers. At the border a sample is its own neighbour.
constexpr char kJpegSource[] = R"cuda(
struct Plane {
  const uint8* samples;
  int height, width;
};

__device__ __forceinline__ int sample(const Plane& plane, int y, int x) {
  y = y < 0 ? 0 : y >= plane.height ? plane.height - 1 : y;
  x = x < 0 ? 0 : x >= plane.width ? plane.width - 1 : x;
  return plane.samples[static_cast<int64>(y) * plane.width + x];
}

// Between two rows the nearer counts three times.
__device__ __forceinline__ int column_sum(const Plane& plane, int y, int x) {
  const int row = y / 2;
  return 3 * sample(plane, row, x) + sample(plane, y % 2 == 0 ? row - 1 : row + 1, x);
}

__device__ __forceinline__ int smooth(const Plane& plane, int rows, int columns, int y, int x) {
  if (columns == 1) {
    return sample(plane, y, x);
  }
  const int near = x / 2;
  const int far = x % 2 == 0 ? near - 1 : near + 1;
  if (rows == 1) {
    return (3 * sample(plane, y, near) + sample(plane, y, far) + (x % 2 == 0 ? 1 : 2)) >> 2;
  }
  return (3 * column_sum(plane, y, near) + column_sum(plane, y, far) + (x % 2 == 0 ? 8 : 7)) >> 4;
}

__device__ __forceinline__ uint8 limited(int value) {
  return static_cast<uint8>(value < 0 ? 0 : value > 255 ? 255 : value);
}

extern "C" __global__ void jpeg_colour(const uint8* luma, const uint8* blue, const uint8* red,
                                       int height, int width, int rows, int columns, uint8* out) {
  const int64 i = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= static_cast<int64>(height) * width) {
    return;
  }
  const int y = static_cast<int>(i / width);
  const int x = static_cast<int>(i % width);
  const int light = luma[i];
  uint8* rgb = out + 3 * i;
  if (blue == nullptr) {
    rgb[0] = rgb[1] = rgb[2] = static_cast<uint8>(light);
    return;
  }
  const int colour_height = (height + rows - 1) / rows;
  const int colour_width = (width + columns - 1) / columns;
  const int cb = smooth({blue, colour_height, colour_width}, rows, columns, y, x) - 128;
  const int cr = smooth({red, colour_height, colour_width}, rows, columns, y, x) - 128;
  constexpr int kHalf = 32768;  // 16 bits behind the point
  rgb[0] = limited(light + ((91881 * cr + kHalf) >> 16));                // 1.40200
  rgb[1] = limited(light + ((-22554 * cb - 46802 * cr + kHalf) >> 16));  // 0.34414, 0.71414
  rgb[2] = limited(light + ((116130 * cb + kHalf) >> 16));               // 1.77200
}
)cuda";

std::vector<at::Tensor> make_planes(const data::JpegHeader& header, const at::Device& device) {
  const auto options = torch::TensorOptions(at::kByte).device(device);
  std::vector<at::Tensor> planes = {torch::empty({header.height, header.width}, options)};
  const auto parts = [](std::int64_t whole, std::int64_t size) {
    return (whole + size - 1) / size;
  };
  for (int i = 0; i < (header.is_grey ? 0 : 2); ++i) {
    planes.push_back(torch::empty(
        {parts(header.height, header.colour_rows), parts(header.width, header.colour_columns)},
        options));
  }
  return planes;
}

}  // namespace

Result<std::unique_ptr<JpegDecoder>> JpegDecoder::make(device::Plugin& plugin) {
  KEDGE_TRY(plugin.jpeg_version());
  const Program program = KEDGE_TRY(Program::make(plugin, kCudaPrelude + kJpegSource, "jpeg"));
  return std::unique_ptr<JpegDecoder>(
      new JpegDecoder(plugin, KEDGE_TRY(program.kernel("jpeg_colour"))));
}

Result<JpegDecoder::Lane> JpegDecoder::take_lane() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      Lane lane = std::move(free_.back());
      free_.pop_back();
      return lane;
    }
  }
  return Lane{.engine = KEDGE_TRY(plugin_.make_jpeg_engine()), .on_host = {}};
}

void JpegDecoder::give_back(Lane lane) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(lane));
}

bool JpegDecoder::decode(std::span<const std::uint8_t> file, data::Image& image) {
  const auto header = data::read_common_jpeg(file);
  if (!header) {
    return false;
  }
  auto lane = take_lane();
  if (!lane) {
    return false;
  }
  try {
    const bool is_decoded = decode_in(*lane, *header, file, image);
    give_back(std::move(*lane));
    return is_decoded;
  } catch (const c10::Error&) {  // the model has taken the GPU's memory: a loader thread goes on
    return false;
  }
}

bool JpegDecoder::decode_in(Lane& lane, const data::JpegHeader& header,
                            std::span<const std::uint8_t> file, data::Image& image) {
  const c10::StreamGuard guard(lane.engine->stream());
  const std::vector<at::Tensor> planes = make_planes(header, lane.engine->stream().device());
  if (!lane.engine->read(file, planes)) {
    return false;
  }
  const at::Tensor rgb = colour(header, planes);
  if (!lane.on_host.defined() || lane.on_host.numel() < rgb.numel()) {
    lane.on_host =
        torch::empty({rgb.numel()}, torch::TensorOptions(at::kByte).pinned_memory(rgb.is_cuda()));
  }
  const at::Tensor on_host = lane.on_host.narrow(0, 0, rgb.numel());
  on_host.copy_(rgb, /*non_blocking=*/true);
  if (!lane.engine->wait()) {
    return false;
  }
  image.height = header.height;
  image.width = header.width;
  image.channels = 3;
  const auto* first = on_host.const_data_ptr<std::uint8_t>();
  image.pixels.assign(first, first + rgb.numel());
  return true;
}

// On the current stream: RGB [H * W * 3].
at::Tensor JpegDecoder::colour(const data::JpegHeader& header,
                               const std::vector<at::Tensor>& planes) {
  const std::int64_t pixels = header.height * header.width;
  at::Tensor rgb = torch::empty({3 * pixels}, planes.front().options());
  const auto plane = [&](std::size_t i) {
    return i < planes.size() ? planes[i].const_data_ptr() : nullptr;
  };
  (*colour_kernel_)({.blocks = static_cast<unsigned>((pixels + kJpegThreads - 1) / kJpegThreads),
                     .threads = kJpegThreads},
                    plane(0), plane(1), plane(2), static_cast<int>(header.height),
                    static_cast<int>(header.width), static_cast<int>(header.colour_rows),
                    static_cast<int>(header.colour_columns), rgb.mutable_data_ptr());
  return rgb;
}

}  // namespace kedge::kernels
