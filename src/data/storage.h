// How fast the storage that holds a data set gives its files, past the machine's memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "config/data_config.h"
#include "core/file.h"

namespace kedge::data {

// Where the set's files are: data.path, or where `kedge data get` puts them. They need not exist.
Path place_of(const config::DataConfig& config);

struct StorageSpeed {
  Path place;
  std::int64_t files = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
  double cached_fraction = 0;  // of the pages that the kernel would not drop: they came from memory

  double bytes_per_s() const { return static_cast<double>(bytes) / seconds; }

  double files_per_s() const { return static_cast<double>(files) / seconds; }
};

// Reads the set's files in a random order with `threads` threads, each once, for at most `limit_s`;
// what the kernel holds of a file is dropped first. Nothing where the set has no files.
std::optional<StorageSpeed> measure_storage(const config::DataConfig& config, std::int64_t threads,
                                            double limit_s);

}  // namespace kedge::data
