#include "data/loader.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/data_config.h"
#include "core/scratch_folder.h"
#include "data/dataset.h"
#include "data/internal/fake_files.h"

namespace kedge::data {
namespace {

using testing::HasSubstr;

std::unique_ptr<Dataset> make_set(std::int64_t samples) {
  config::DataConfig config;
  config.name = "synthetic";
  config.samples = samples;
  config.image_size = 8;
  return std::move(open_data(config)->train);
}

Pipeline make_pipeline(const std::vector<std::string>& steps) {
  return *Pipeline::parse(steps);
}

// All that a batch holds, as plain values.
struct Seen {
  std::vector<std::int64_t> indices;
  std::vector<std::uint8_t> pixels;
  std::vector<std::int64_t> labels;
  bool operator==(const Seen&) const = default;
};

Seen look_at(const Batch& batch) {
  Seen seen;
  seen.indices = batch.indices;
  const Field* image = batch.find(kImage);
  const auto bytes = static_cast<std::int64_t>(image->bytes_per_sample()) * batch.count;
  seen.pixels.assign(image->buffer.get(), image->buffer.get() + bytes);
  const auto* labels = batch.find(kLabel)->as<std::int64_t>();
  seen.labels.assign(labels, labels + batch.count);
  return seen;
}

std::vector<Seen> run_epoch(Loader& loader, std::int64_t epoch, std::int64_t first = 0) {
  std::vector<Seen> all;
  loader.start_epoch(epoch, first);
  for (;;) {
    auto batch = loader.next();
    EXPECT_TRUE(batch) << batch.error().message;
    if (!batch || *batch == nullptr) {
      return all;
    }
    all.push_back(look_at(**batch));
  }
}

std::vector<std::int64_t> order_of(const std::vector<Seen>& batches) {
  std::vector<std::int64_t> order;
  for (const Seen& seen : batches) {
    order.insert(order.end(), seen.indices.begin(), seen.indices.end());
  }
  return order;
}

const std::vector<std::string> kRandomSteps = {"random_crop 8 2", "flip", "jitter 0.4 0.4 0.4"};

TEST(Loader, gives_the_same_bytes_with_any_number_of_workers) {
  const auto set = make_set(103);
  const Pipeline pipeline = make_pipeline(kRandomSteps);
  LoaderOptions options{.batch_size = 10, .shuffle = true, .seed = 9};
  Loader plain(*set, pipeline, options);
  const auto first = run_epoch(plain, 0);
  const auto second = run_epoch(plain, 1);
  ASSERT_EQ(first.size(), 11U);
  EXPECT_EQ(first.back().indices.size(), 3U);
  EXPECT_NE(order_of(first), order_of(second));
  for (const std::int64_t workers : {1, 3}) {
    for (const std::int64_t prefetch : {1, 4}) {
      options.workers = workers;
      options.prefetch = prefetch;
      Loader threaded(*set, pipeline, options);
      EXPECT_EQ(run_epoch(threaded, 0), first);
      EXPECT_EQ(run_epoch(threaded, 1), second);
    }
  }
}

TEST(Loader, placed_batches_name_the_samples_that_the_others_hold) {
  const auto set = make_set(23);
  const Pipeline pipeline = make_pipeline({"random_crop 8 2", "flip"});
  LoaderOptions options{.batch_size = 5, .shuffle = true, .seed = 4};
  Loader plain(*set, pipeline, options);
  options.placed = ImageShape{.height = 8, .width = 8, .channels = 3};
  Loader placed(*set, pipeline, options);
  plain.start_epoch(2);
  placed.start_epoch(2);
  for (int i = 0; i < 5; ++i) {
    const auto wanted = plain.next();
    const auto got = placed.next();
    ASSERT_TRUE(got && *got != nullptr);
    const Field* image = (*got)->find(kImage);
    EXPECT_EQ(image->type, FieldType::Placement);
    EXPECT_THAT(image->shape, testing::ElementsAre(8, 8, 3));
    EXPECT_EQ(image->as<Placement>()[0].index, (*wanted)->indices.front());
    EXPECT_EQ((*got)->indices, (*wanted)->indices);
    EXPECT_EQ((*got)->positions, (*wanted)->positions);
    EXPECT_EQ((*got)->positions.size(), static_cast<std::size_t>((*got)->count));
  }
}

TEST(Loader, holds_every_sample_once_with_its_own_pixels_and_label) {
  const auto set = make_set(50);
  const Pipeline nothing = make_pipeline({});
  Loader loader(*set, nothing, {.batch_size = 7, .workers = 2, .shuffle = true, .seed = 3});
  std::vector<std::int64_t> order;
  Sample sample;
  for (const Seen& seen : run_epoch(loader, 0)) {
    const std::size_t size = seen.pixels.size() / seen.indices.size();
    for (std::size_t i = 0; i < seen.indices.size(); ++i) {
      ASSERT_TRUE(set->read(seen.indices[i], sample));
      EXPECT_EQ(seen.labels[i], set->label(seen.indices[i]));
      EXPECT_TRUE(std::equal(sample.image.pixels.begin(), sample.image.pixels.end(),
                             seen.pixels.begin() + static_cast<std::ptrdiff_t>(i * size)));
      order.push_back(seen.indices[i]);
    }
  }
  std::ranges::sort(order);
  for (std::size_t i = 0; i < 50; ++i) {
    ASSERT_EQ(order[i], static_cast<std::int64_t>(i));
  }
}

TEST(Loader, resumes_inside_an_epoch_with_the_rest_of_it) {
  const auto set = make_set(64);
  const Pipeline pipeline = make_pipeline(kRandomSteps);
  for (const std::int64_t workers : {0, 2}) {
    const LoaderOptions options{.batch_size = 5, .workers = workers, .shuffle = true, .seed = 11};
    Loader whole(*set, pipeline, options);
    std::vector<Seen> expected = run_epoch(whole, 2);
    expected.erase(expected.begin(), expected.begin() + 4);
    Loader resumed(*set, pipeline, options);
    EXPECT_EQ(run_epoch(resumed, 2, 4), expected);
  }
}

TEST(Loader, covers_one_global_order_whatever_the_ranks) {
  const auto set = make_set(100);
  const Pipeline pipeline = make_pipeline(kRandomSteps);
  const LoaderOptions one{.batch_size = 12, .shuffle = true, .seed = 4};
  Loader alone(*set, pipeline, one);
  const std::vector<Seen> expected = run_epoch(alone, 1);
  for (const std::int64_t ranks : {2, 3, 4}) {
    std::vector<std::vector<Seen>> parts;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      LoaderOptions options = one;
      options.batch_size = 12 / ranks;
      options.rank = rank;
      options.ranks = ranks;
      Loader loader(*set, pipeline, options);
      parts.push_back(run_epoch(loader, 1));
      ASSERT_EQ(parts.back().size(), expected.size()) << "every rank has the same number of steps";
    }
    for (std::size_t b = 0; b < expected.size(); ++b) {
      Seen joined;
      for (const auto& part : parts) {
        joined.indices.insert(joined.indices.end(), part[b].indices.begin(), part[b].indices.end());
        joined.labels.insert(joined.labels.end(), part[b].labels.begin(), part[b].labels.end());
        joined.pixels.insert(joined.pixels.end(), part[b].pixels.begin(), part[b].pixels.end());
      }
      EXPECT_EQ(joined, expected[b]) << ranks << " ranks, batch " << b;
    }
  }
}

TEST(Loader, keeps_the_files_order_without_shuffle) {
  const auto set = make_set(10);
  const Pipeline nothing = make_pipeline({});
  Loader loader(*set, nothing, {.batch_size = 4});
  const auto batches = run_epoch(loader, 5);
  EXPECT_THAT(order_of(batches), testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(Loader, leaves_out_a_short_batch_only_when_asked) {
  const auto set = make_set(10);
  const Pipeline nothing = make_pipeline({});
  Loader keeps(*set, nothing, {.batch_size = 4});
  EXPECT_EQ(keeps.batches_per_epoch(), 3);
  Loader drops(*set, nothing, {.batch_size = 4, .drop_last = true});
  EXPECT_EQ(drops.batches_per_epoch(), 2);
  EXPECT_EQ(run_epoch(drops, 0).size(), 2U);
  Loader large(*set, nothing, {.batch_size = 64});
  EXPECT_EQ(run_epoch(large, 0).size(), 1U);
}

TEST(Loader, says_when_a_batch_is_larger_than_the_set) {
  const auto set = make_set(10);
  const Pipeline nothing = make_pipeline({});
  Loader loader(*set, nothing, {.batch_size = 6, .drop_last = true, .ranks = 2});
  loader.start_epoch(0);
  const auto batch = loader.next();
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().kind, ErrorKind::Usage);
  EXPECT_THAT(batch.error().message, HasSubstr("10 samples"));
}

// Labels are 8 bytes each; nothing is made for samples that are not there.
TEST(Loader, takes_memory_for_no_more_samples_than_there_are) {
  const auto set = make_set(10);
  const Pipeline nothing = make_pipeline({});
  std::size_t most = 0;
  LoaderOptions options{.batch_size = 1'000'000'000'000};
  options.allocate = [&](std::size_t size) {
    most = std::max(most, size);
    return allocate_plain(size);
  };
  Loader loader(*set, nothing, options);
  EXPECT_EQ(run_epoch(loader, 0).size(), 1U);
  EXPECT_LT(most, 1U << 20U);
}

TEST(Loader, memory_that_cannot_be_had_is_an_error_with_the_number_and_the_key) {
  EXPECT_EQ(allocate_plain(1UL << 60U), nullptr);
  const auto set = make_set(10);
  const Pipeline nothing = make_pipeline({});
  LoaderOptions options{.batch_size = 4, .workers = 1};
  options.allocate = [](std::size_t) { return Buffer(); };
  Loader loader(*set, nothing, options);
  loader.start_epoch(0);
  const auto batch = loader.next();
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().kind, ErrorKind::Unavailable);
  EXPECT_THAT(batch.error().message, HasSubstr("loader.batch_size: there is no memory for 4"));
}

TEST(Loader, can_leave_an_epoch_early_and_be_destroyed_at_work) {
  const auto set = make_set(500);
  const Pipeline pipeline = make_pipeline(kRandomSteps);
  Loader loader(*set, pipeline, {.batch_size = 8, .workers = 3, .shuffle = true, .seed = 1});
  const auto expected = run_epoch(loader, 1);
  for (int i = 0; i < 20; ++i) {
    loader.start_epoch(0);
    ASSERT_TRUE(loader.next());
  }
  EXPECT_EQ(run_epoch(loader, 1), expected);
  loader.start_epoch(2);
}

TEST(Loader, uses_batch_memory_again_when_its_last_reference_goes) {
  const auto set = make_set(40);
  const Pipeline nothing = make_pipeline({});
  int allocations = 0;
  LoaderOptions options{.batch_size = 4};
  options.allocate = [&](std::size_t size) {
    ++allocations;
    return allocate_plain(size);
  };
  Buffer kept;
  {
    Loader loader(*set, nothing, options);
    loader.start_epoch(0);
    kept = (*loader.next())->find(kImage)->buffer;
    const std::uint8_t before = kept.get()[0];
    run_epoch(loader, 1);
    EXPECT_EQ(kept.get()[0], before);
    EXPECT_EQ(allocations, 3);  // pixels and labels; pixels again while `kept` holds the first
  }
  kept.get()[0] = 1;  // still ours after the loader is gone
}

void write_images(const Path& folder) {
  const auto fixture = [](const char* name) {
    return *read_file(Path(KEDGE_FIXTURES) / "data" / name);
  };
  must_write(folder / "a/1.png", fixture("rgb.png"));
  must_write(folder / "a/2.png", fixture("rgb.png").substr(0, 900));
  must_write(folder / "b/3.jpg", fixture("photo.jpg"));
  must_write(folder / "b/4.png", fixture("resize_up.png"));
}

Result<TrainVal> open_folder(const Path& folder) {
  config::DataConfig config;
  config.name = "imagefolder";
  config.path = folder.string();
  config.val_count = 0;
  return open_data(config);
}

TEST(Loader, shares_a_batch_of_files_among_workers_and_gives_the_same_bytes) {
  const ScratchFolder folder;
  for (const std::string name : {"a", "b", "c", "d", "e", "f"}) {
    write_images(folder.path() / name);
  }
  const auto data = open_folder(folder.path());
  ASSERT_TRUE(data);
  const Pipeline pipeline = make_pipeline({"resized_crop 12", "flip"});
  LoaderOptions options{.batch_size = 18, .shuffle = true, .skip_bad = true, .seed = 4};
  Loader plain(*data->train, pipeline, options);
  const auto whole = run_epoch(plain, 3);
  ASSERT_EQ(order_of(whole).size(), 18U) << "of 24 files a quarter is damaged";
  for (const std::int64_t workers : {2, 4, 9}) {
    options.workers = workers;
    Loader sharing(*data->train, pipeline, options);
    EXPECT_EQ(run_epoch(sharing, 3), whole) << workers << " workers";
  }
}

TEST(Loader, skips_and_counts_damaged_images_or_names_them) {
  const ScratchFolder folder;
  write_images(folder.path());
  const auto data = open_folder(folder.path());
  ASSERT_TRUE(data);
  const Pipeline resize = make_pipeline({"resize 16 16"});
  for (const std::int64_t workers : {0, 1}) {
    Loader skipping(*data->train, resize, {.batch_size = 4, .workers = workers, .skip_bad = true});
    skipping.start_epoch(0);
    const auto batch = skipping.next();
    ASSERT_TRUE(batch) << batch.error().message;
    EXPECT_EQ((*batch)->count, 3);
    EXPECT_EQ((*batch)->skipped, 1);
    EXPECT_THAT((*batch)->indices, testing::ElementsAre(0, 2, 3));
    Loader strict(*data->train, resize, {.batch_size = 4, .workers = workers});
    strict.start_epoch(0);
    const auto broken = strict.next();
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().kind, ErrorKind::Corrupt);
    EXPECT_THAT(broken.error().message, HasSubstr("a/2.png"));
    EXPECT_THAT(broken.error().hint, HasSubstr("on_error: skip"));
  }
}

TEST(Loader, names_both_images_that_differ_in_size) {
  const ScratchFolder folder;
  write_images(folder.path());
  const auto data = open_folder(folder.path());
  ASSERT_TRUE(data);
  const Pipeline nothing = make_pipeline({});
  for (const std::int64_t workers : {0, 4}) {  // 16: one file for each of four
    Loader loader(*data->train, nothing, {.batch_size = 16, .workers = workers, .skip_bad = true});
    loader.start_epoch(0);
    const auto batch = loader.next();
    ASSERT_FALSE(batch);
    EXPECT_EQ(batch.error().kind, ErrorKind::Usage);
    EXPECT_THAT(batch.error().message, HasSubstr("a/1.png is 23x37x3"));
    EXPECT_THAT(batch.error().message, HasSubstr("b/4.png is 50x61x3"));
    EXPECT_THAT(batch.error().hint, HasSubstr("center_crop"));
  }
}

TEST(Loader, batches_tokens_as_32_bit_ids) {
  const ScratchFolder folder;
  must_write(folder / "t.txt", "abcdefghi");
  config::DataConfig config;
  config.name = "text";
  config.path = (folder / "t.txt").string();
  config.context = 4;
  config.val_count = 0;
  const auto data = open_data(config);
  ASSERT_TRUE(data) << data.error().message;
  const Pipeline nothing = make_pipeline({});
  Loader loader(*data->train, nothing, {.batch_size = 2});
  loader.start_epoch(0);
  const auto batch = loader.next();
  ASSERT_TRUE(batch);
  ASSERT_EQ((*batch)->fields.size(), 1U);
  const Field& tokens = (*batch)->fields.front();
  EXPECT_EQ(static_cast<const FieldInfo&>(tokens), token_fields(4).front());
  const auto* first = tokens.as<std::int32_t>();
  const std::vector<std::int32_t> ids(first, first + 10);
  EXPECT_THAT(ids, testing::ElementsAre('a', 'b', 'c', 'd', 'e', 'e', 'f', 'g', 'h', 'i'));
}

// Windows of ids, each with a weight for every prediction and the number of its document.
class WeightedWindows final : public Dataset {
 public:
  WeightedWindows() {
    info_.fields = token_fields(2);
    info_.fields.push_back({.name = "weight", .type = FieldType::F32, .shape = {2}});
    info_.fields.push_back({.name = "document", .type = FieldType::I64});
  }

  const DatasetInfo& info() const override { return info_; }

  std::int64_t size() const override { return 3; }

  std::int64_t label(std::int64_t) const override { return 0; }

  std::string name(std::int64_t index) const override { return std::to_string(index); }

  Result<void> read(std::int64_t index, Sample& sample) const override {
    std::ranges::fill(sample.row<std::int32_t>(0, 3), static_cast<std::int32_t>(70000 + index));
    std::ranges::fill(sample.row<float>(1, 2), 0.5F * static_cast<float>(index));
    sample.row<std::int64_t>(2, 1)[0] = -index;
    return {};
  }

  std::string digest() const override { return ""; }

 private:
  DatasetInfo info_;
};

TEST(Loader, batches_whatever_fields_a_source_has) {
  const WeightedWindows set;
  const Pipeline nothing = make_pipeline({});
  Loader loader(set, nothing, {.batch_size = 3, .workers = 1});
  loader.start_epoch(0);
  const auto batch = loader.next();
  ASSERT_TRUE(batch) << batch.error().message;
  ASSERT_EQ((*batch)->fields.size(), 3U);
  EXPECT_EQ((*batch)->find(kImage), nullptr);
  const auto* ids = (*batch)->find(kTokens)->as<std::int32_t>();
  EXPECT_THAT(std::vector<std::int32_t>(ids, ids + 9),
              testing::ElementsAre(70000, 70000, 70000, 70001, 70001, 70001, 70002, 70002, 70002));
  const Field* weight = (*batch)->find("weight");
  EXPECT_EQ(weight->bytes_per_sample(), 8U);
  EXPECT_THAT(std::vector<float>(weight->as<float>(), weight->as<float>() + 6),
              testing::ElementsAre(0, 0, 0.5, 0.5, 1, 1));
  const auto* document = (*batch)->find("document")->as<std::int64_t>();
  EXPECT_THAT(std::vector<std::int64_t>(document, document + 3), testing::ElementsAre(0, -1, -2));
}

}  // namespace
}  // namespace kedge::data
