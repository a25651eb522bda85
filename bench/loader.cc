// What does a sample cost the loader? Samples per second of processor time, which a busy machine
// changes less than the clock's: CIFAR-like images as they are, cropped and flipped, only placed,
// and windows of 257 token ids. One thread, batches of 256, the median of 15 rounds.
#include "data/loader.h"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/file.h"
#include "core/random.h"
#include "core/scratch_folder.h"
#include "data/dataset.h"
#include "data/pipeline.h"

namespace kedge {
namespace {

double processor_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Case {
  std::string name;
  std::string source;
  std::vector<std::string> steps = {};
  bool is_placed = false;
};

void write_noise(const Path& path, std::size_t size) {
  Random noise({1});
  std::string bytes(size, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(noise.next() % 10);  // also a label
  }
  KEDGE_CHECK(write_file_atomic(path, bytes).has_value(), "the data can be written");
}

double samples_per_s(data::Loader& loader, std::int64_t epoch) {
  const double start = processor_s();
  std::int64_t samples = 0;
  for (loader.start_epoch(epoch); const auto batch = *loader.next();) {
    samples += batch->count;
  }
  return static_cast<double>(samples) / (processor_s() - start);
}

void measure(const Case& one, const Path& folder) {
  config::DataConfig config;
  config.name = one.source;
  config.path = folder.string();
  const auto data = data::open_data(config);
  const auto pipeline = data::Pipeline::parse(one.steps);
  KEDGE_CHECK(data && pipeline, "the data can be read");
  data::LoaderOptions options{.batch_size = 256, .shuffle = true};
  if (one.is_placed) {
    options.placed = data::ImageShape{.height = 32, .width = 32, .channels = 3};
  }
  data::Loader loader(*data->train, *pipeline, options);
  std::vector<double> speeds(15);
  for (std::size_t epoch = 0; epoch < speeds.size(); ++epoch) {
    speeds[epoch] = samples_per_s(loader, static_cast<std::int64_t>(epoch));
  }
  std::ranges::sort(speeds);
  fmt::print("{:28} {:11.0f} samples/s\n", one.name, speeds[speeds.size() / 2]);
}

void measure_all() {
  const ScratchFolder folder;
  for (const char* name : {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4",
                           "data_batch_5", "test_batch"}) {
    write_noise(folder / (std::string(name) + ".bin"), std::size_t{10000} * 3073);
  }
  write_noise(folder / "train.bin", std::size_t{2} * 256 * 50000);
  const std::vector<std::string> steps = {"random_crop 32 4", "flip"};
  for (const Case& one :
       {Case{.name = "images", .source = "cifar10"},
        Case{.name = "images, crop and flip", .source = "cifar10", .steps = steps},
        Case{.name = "images, crop and flip, placed",
             .source = "cifar10",
             .steps = steps,
             .is_placed = true},
        Case{.name = "windows of 257 ids", .source = "tokens"}}) {
    measure(one, folder.path());
  }
}

}  // namespace
}  // namespace kedge

int main() {
  kedge::measure_all();
}
