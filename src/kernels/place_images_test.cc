// The kernel's images against data::render() and the plain operations, bit by bit: on the GPU where
// there is one, else as C++ on the CPU.
#include "kernels/place_images.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/random.h"
#include "data/pipeline.h"
#include "data/placement.h"
#include "device/emulated_plugin.h"

namespace kedge::kernels {
namespace {

constexpr std::int64_t kImages = 7;
constexpr std::int64_t kBatch = 12;
constexpr data::ImageShape kShape{.height = 10, .width = 12, .channels = 3};

std::vector<data::Placement> make_placements(const std::vector<std::string>& steps) {
  const auto pipeline = data::Pipeline::parse(steps);
  EXPECT_TRUE(pipeline) << pipeline.error().message;
  std::vector<data::Placement> placements;
  for (std::int64_t i = 0; i < kBatch; ++i) {
    data::Placement placement{.index = static_cast<std::int32_t>(i % kImages),
                              .height = kShape.height,
                              .width = kShape.width};
    data::Visit visit{.random = Random(static_cast<std::uint64_t>(i)), .epoch = i};
    pipeline->place(placement, visit);
    placements.push_back(placement);
  }
  return placements;
}

at::Tensor render_all(const at::Tensor& pixels, const std::vector<data::Placement>& placements) {
  const data::Placement& first = placements.front();
  at::Tensor out = torch::empty({kBatch, first.height, first.width, kShape.channels}, at::kByte);
  for (std::int64_t i = 0; i < kBatch; ++i) {
    const data::Placement& placement = placements[static_cast<std::size_t>(i)];
    data::render(placement, kShape, pixels[placement.index].const_data_ptr<std::uint8_t>(),
                 out[i].mutable_data_ptr<std::uint8_t>());
  }
  return out.permute({0, 3, 1, 2});
}

TEST(PlaceImages, gives_the_bits_that_rendering_gives) {
  device::open();
  if (device::plugin() == nullptr && !device::EmulatedPlugin::is_possible()) {
    GTEST_SKIP() << device::why_missing() << ", and there is no C++ compiler";
  }
  device::EmulatedPlugin emulated;
  device::Plugin& used = device::plugin() == nullptr ? emulated : *device::plugin();
  auto place = PlaceImages::make(used);
  ASSERT_TRUE(place) << place.error().message;
  torch::manual_seed(1);
  const at::Tensor pixels =
      torch::randint(0, 256, {kImages, kShape.height, kShape.width, kShape.channels}, at::kByte);
  const at::Tensor scale = torch::rand({1, 3, 1, 1}) / 50;
  const at::Tensor shift = -torch::rand({1, 3, 1, 1});
  for (const std::vector<std::string>& steps : {std::vector<std::string>{},
                                                {"flip", "random_crop 8 3"},
                                                {"flip alternating", "random_crop 10 4 reflect"},
                                                {"random_crop 9 2", "vflip", "cutout 4"},
                                                {"random_crop 16 5 reflect", "cutout 6", "flip"},
                                                {"jitter 0.4 0.4 0.4"},
                                                {"random_crop 8 2", "jitter 0.8 0.3 2", "cutout 3"},
                                                {"flip", "jitter 0 0.7 0", "vflip"}}) {
    const std::vector<data::Placement> placements = make_placements(steps);
    at::Tensor bytes =
        torch::empty({kBatch * static_cast<std::int64_t>(sizeof(data::Placement))}, at::kByte);
    std::memcpy(bytes.mutable_data_ptr(), placements.data(), bytes.nbytes());
    const at::Tensor wanted = render_all(pixels, placements).to(at::kFloat) * scale + shift;
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
      for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
        at::Tensor out = torch::empty(
            wanted.sizes(), torch::TensorOptions(type).device(used.device()).memory_format(format));
        (*place)(pixels.to(used.device()), bytes.to(used.device()),
                 {.scale = scale.to(used.device()), .shift = shift.to(used.device())}, out);
        EXPECT_TRUE(torch::equal(out.cpu(), wanted.to(type)))
            << ::testing::PrintToString(steps) << " " << toString(type);
      }
    }
  }
}

}  // namespace
}  // namespace kedge::kernels
