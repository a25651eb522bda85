// Small data files in the published forms, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"

namespace kedge::data {

inline void must_write(const Path& path, std::string_view content) {
  KEDGE_CHECK(make_dirs(path.parent_path()), "a test can make its folders");
  KEDGE_CHECK(write_file_atomic(path, content), "a test can write its files");
}

inline std::string big_endian_word(std::uint32_t value) {
  return {static_cast<char>(value >> 24U), static_cast<char>(value >> 16U & 0xFFU),
          static_cast<char>(value >> 8U & 0xFFU), static_cast<char>(value & 0xFFU)};
}

// `count` images of 2 x 3 pixels; image i has the pixels 10*i, 10*i + 1, ...
inline std::string idx_images(std::size_t count) {
  std::string out = big_endian_word(0x803) + big_endian_word(static_cast<std::uint32_t>(count)) +
                    big_endian_word(2) + big_endian_word(3);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < 6; ++k) {
      out.push_back(static_cast<char>(10 * i + k));
    }
  }
  return out;
}

inline std::string idx_labels(const std::vector<std::uint8_t>& labels) {
  std::string out =
      big_endian_word(0x801) + big_endian_word(static_cast<std::uint32_t>(labels.size()));
  out.append(labels.begin(), labels.end());
  return out;
}

inline void write_small_mnist(const Path& folder) {
  must_write(folder / "train-images-idx3-ubyte", idx_images(4));
  must_write(folder / "train-labels-idx1-ubyte", idx_labels({5, 0, 4, 9}));
  must_write(folder / "t10k-images-idx3-ubyte", idx_images(2));
  must_write(folder / "t10k-labels-idx1-ubyte", idx_labels({7, 2}));
}

// A CIFAR-10 record: every red byte is 100 + label, every green 50, blue counts up.
inline std::string cifar_record(std::uint8_t label) {
  std::string out(1, static_cast<char>(label));
  out.append(1024, static_cast<char>(100 + label));
  out.append(1024, static_cast<char>(50));
  for (int i = 0; i < 1024; ++i) {
    out.push_back(static_cast<char>(i & 0xFF));
  }
  return out;
}

// Five batches of two records with labels 0..9, and one test record of class 3.
inline void write_small_cifar(const Path& folder) {
  for (int batch = 0; batch < 5; ++batch) {
    must_write(folder / ("data_batch_" + std::to_string(batch + 1) + ".bin"),
               cifar_record(static_cast<std::uint8_t>(2 * batch)) +
                   cifar_record(static_cast<std::uint8_t>(2 * batch + 1)));
  }
  must_write(folder / "test_batch.bin", cifar_record(3));
}

}  // namespace kedge::data
