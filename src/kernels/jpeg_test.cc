// Our kernel's pixels against libjpeg's, bit by bit: with nvJPEG where there is a GPU, else from
// the planes that libjpeg itself gives, as C++ on the CPU.
#include "kernels/jpeg.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <jpeglib.h>
#include <torch/types.h>

#include "core/random.h"
#include "device/emulated_plugin.h"

namespace kedge::kernels {
namespace {

struct Coding {
  int height = 0;
  int width = 0;
  int components = 3;
  int columns = 1;  // pixels that share a sample of colour
  int rows = 1;
  bool is_progressive = false;
};

// Colours that change everywhere, with some that do not fit into RGB.
std::vector<std::uint8_t> make_file(const Coding& coding) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_height = static_cast<JDIMENSION>(coding.height);
  jpeg.image_width = static_cast<JDIMENSION>(coding.width);
  jpeg.input_components = coding.components;
  jpeg.in_color_space = coding.components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 90, TRUE);
  jpeg.comp_info[0].h_samp_factor = coding.columns;
  jpeg.comp_info[0].v_samp_factor = coding.rows;
  if (coding.is_progressive) {
    jpeg_simple_progression(&jpeg);
  }
  jpeg_start_compress(&jpeg, TRUE);
  Random random(7);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(coding.width * coding.components));
  while (jpeg.next_scanline < jpeg.image_height) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = static_cast<std::uint8_t>(17 * i + 5 * jpeg.next_scanline + random.below(90));
    }
    JSAMPROW rows = row.data();
    jpeg_write_scanlines(&jpeg, &rows, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::vector<std::uint8_t> file(bytes, bytes + size);
  jpeg_destroy_compress(&jpeg);
  std::free(bytes);
  return file;
}

// The components before libjpeg smooths them.
class LibjpegEngine : public device::JpegEngine {
 public:
  c10::Stream stream() const override {
    return c10::Stream(c10::Stream::DEFAULT, c10::Device(c10::DeviceType::CPU));
  }

  bool read(std::span<const std::uint8_t> file, std::span<const at::Tensor> planes) override {
    jpeg_decompress_struct jpeg{};
    jpeg_error_mgr errors{};
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&jpeg);
    jpeg_mem_src(&jpeg, file.data(), file.size());
    jpeg_read_header(&jpeg, TRUE);
    jpeg.raw_data_out = TRUE;
    jpeg.out_color_space = jpeg.jpeg_color_space;
    jpeg_start_decompress(&jpeg);
    // Whole blocks, some of which reach over the border.
    std::vector<at::Tensor> blocks;
    for (std::size_t c = 0; c < planes.size(); ++c) {
      const jpeg_component_info& part = jpeg.comp_info[c];
      EXPECT_EQ(planes[c].size(0), part.downsampled_height);
      EXPECT_EQ(planes[c].size(1), part.downsampled_width);
      blocks.push_back(torch::empty(
          {part.height_in_blocks * DCTSIZE + 2 * DCTSIZE, part.width_in_blocks * DCTSIZE},
          at::kByte));
    }
    while (jpeg.output_scanline < jpeg.output_height) {
      const auto done = static_cast<std::int64_t>(jpeg.output_scanline);
      std::vector<std::vector<JSAMPROW>> rows(planes.size());
      std::vector<JSAMPARRAY> components;
      for (std::size_t c = 0; c < planes.size(); ++c) {
        const int part = jpeg.comp_info[c].v_samp_factor;
        for (std::int64_t i = 0; i < part * DCTSIZE; ++i) {
          rows[c].push_back(
              blocks[c][done * part / jpeg.max_v_samp_factor + i].data_ptr<std::uint8_t>());
        }
        components.push_back(rows[c].data());
      }
      jpeg_read_raw_data(&jpeg, components.data(),
                         static_cast<JDIMENSION>(jpeg.max_v_samp_factor * DCTSIZE));
    }
    for (std::size_t c = 0; c < planes.size(); ++c) {
      planes[c].copy_(blocks[c].slice(0, 0, planes[c].size(0)).slice(1, 0, planes[c].size(1)));
    }
    jpeg_finish_decompress(&jpeg);
    jpeg_destroy_decompress(&jpeg);
    return true;
  }

  bool wait() override { return true; }
};

class LibjpegPlugin : public device::EmulatedPlugin {
 public:
  Result<std::string> jpeg_version() override { return "of libjpeg"; }

  Result<std::unique_ptr<device::JpegEngine>> make_jpeg_engine() override {
    return std::make_unique<LibjpegEngine>();
  }
};

TEST(Jpeg, gives_the_pixels_that_libjpeg_gives) {
  device::open();
  const bool has_nvjpeg = device::plugin() != nullptr && device::plugin()->jpeg_version();
  if (!has_nvjpeg && !device::EmulatedPlugin::is_possible()) {
    GTEST_SKIP() << device::why_missing() << ", and there is no C++ compiler";
  }
  LibjpegPlugin emulated;
  auto decoder = JpegDecoder::make(has_nvjpeg ? *device::plugin() : emulated);
  ASSERT_TRUE(decoder) << decoder.error().message;
  for (const auto& [height, width] :
       {std::pair(48, 64), {37, 41}, {5, 7}, {1, 6}, {8, 5}, {90, 33}}) {
    for (const Coding& coding :
         {Coding{.height = height, .width = width, .components = 1},
          Coding{.height = height, .width = width},
          Coding{.height = height, .width = width, .columns = 2},
          Coding{.height = height, .width = width, .columns = 2, .rows = 2}}) {
      const std::vector<std::uint8_t> file = make_file(coding);
      data::Image wanted;
      ASSERT_TRUE(data::decode_image(file, "made", wanted));
      data::Image got;
      ASSERT_TRUE((*decoder)->decode(file, got)) << height << "x" << width;
      EXPECT_EQ(got.height, wanted.height);
      EXPECT_EQ(got.width, wanted.width);
      EXPECT_EQ(got.channels, wanted.channels);
      EXPECT_EQ(got.pixels, wanted.pixels)
          << height << "x" << width << ", colours of " << coding.columns << "x" << coding.rows;
    }
  }
}

// As when the model has taken all of the GPU's memory.
class PoorPlugin : public LibjpegPlugin {
 public:
  Result<std::unique_ptr<device::JpegEngine>> make_jpeg_engine() override {
    class Engine : public LibjpegEngine {
      bool read(std::span<const std::uint8_t> /*file*/,
                std::span<const at::Tensor> /*planes*/) override {
        TORCH_CHECK(false, "CUDA out of memory");
      }
    };

    return std::make_unique<Engine>();
  }
};

TEST(Jpeg, leaves_the_file_to_libjpeg_where_the_gpu_fails) {
  if (!device::EmulatedPlugin::is_possible()) {
    GTEST_SKIP() << "there is no C++ compiler";
  }
  PoorPlugin poor;
  auto decoder = JpegDecoder::make(poor);
  ASSERT_TRUE(decoder) << decoder.error().message;
  data::Image image;
  EXPECT_FALSE((*decoder)->decode(make_file({.height = 20, .width = 20}), image));
}

TEST(Jpeg, leaves_what_is_not_common_to_libjpeg) {
  LibjpegPlugin emulated;
  if (!device::EmulatedPlugin::is_possible()) {
    GTEST_SKIP() << "there is no C++ compiler";
  }
  auto decoder = JpegDecoder::make(emulated);
  ASSERT_TRUE(decoder) << decoder.error().message;
  data::Image image;
  for (const Coding& coding : {Coding{.height = 20, .width = 20, .is_progressive = true},
                               Coding{.height = 20, .width = 20, .rows = 2},
                               Coding{.height = 20, .width = 4, .columns = 2}}) {
    EXPECT_FALSE((*decoder)->decode(make_file(coding), image));
  }
  std::vector<std::uint8_t> cut = make_file({.height = 20, .width = 20});
  cut.resize(cut.size() / 2);
  EXPECT_FALSE((*decoder)->decode(cut, image));
}

}  // namespace
}  // namespace kedge::kernels
