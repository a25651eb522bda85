#include "data/dataset.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/data_config.h"
#include "core/scratch_folder.h"
#include "data/internal/fake_files.h"
#include "data/internal/split.h"

namespace kedge::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

config::DataConfig synthetic(std::int64_t samples) {
  config::DataConfig config;
  config.name = "synthetic";
  config.samples = samples;
  config.image_size = 4;
  config.channels = 1;
  return config;
}

std::set<std::string> names_of(const Dataset& dataset) {
  std::set<std::string> names;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    names.insert(dataset.name(i));
  }
  EXPECT_EQ(static_cast<std::int64_t>(names.size()), dataset.size()) << "a sample comes twice";
  return names;
}

std::map<std::int64_t, int> class_counts(const Dataset& dataset) {
  std::map<std::int64_t, int> counts;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    ++counts[dataset.label(i)];
  }
  return counts;
}

// MNIST files whose labels are `labels`, every image different.
void write_labelled(const Path& folder, const std::vector<std::uint8_t>& labels) {
  write_small_mnist(folder);
  must_write(folder / "train-images-idx3-ubyte", idx_images(labels.size()));
  must_write(folder / "train-labels-idx1-ubyte", idx_labels(labels));
}

config::DataConfig mnist_at(const Path& folder) {
  config::DataConfig config;
  config.name = "mnist";
  config.path = folder.string();
  return config;
}

TEST(OpenData, uses_the_test_part_when_no_split_is_asked_for) {
  const auto data = open_data(synthetic(100));
  ASSERT_TRUE(data);
  EXPECT_EQ(data->train->size(), 100);
  EXPECT_EQ(data->val->size(), 25);
}

TEST(OpenData, holds_out_a_share_that_is_never_trained_on) {
  for (const bool stratify : {true, false}) {
    config::DataConfig config = synthetic(103);
    config.val_ratio = 0.2;
    config.stratify = stratify;
    const auto data = open_data(config);
    ASSERT_TRUE(data);
    EXPECT_EQ(data->val->size(), 21);  // 20.6 rounded
    std::set<std::string> all = names_of(*data->train);
    all.merge(names_of(*data->val));
    EXPECT_EQ(all.size(), 103U);
  }
}

TEST(OpenData, splits_by_the_split_seed_alone) {
  config::DataConfig config = synthetic(100);
  config.val_count = 30;
  const auto first = open_data(config);
  EXPECT_EQ(names_of(*first->val), names_of(*open_data(config)->val));
  EXPECT_EQ(first->digest, open_data(config)->digest);
  config.split_seed = 43;
  const auto other = open_data(config);
  EXPECT_NE(names_of(*first->val), names_of(*other->val));
  EXPECT_NE(first->digest, other->digest);
}

TEST(OpenData, keeps_the_class_balance_in_the_split) {
  const ScratchFolder folder;
  // Ten of class 0, six of class 1, four of class 2; a quarter is 2.5, 1.5 and 1, five in all:
  // by largest remainder 3, 1, 1 (the tie goes to the first).
  write_labelled(folder.path(), {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2});
  config::DataConfig config = mnist_at(folder.path());
  config.val_ratio = 0.25;
  const auto data = open_data(config);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(class_counts(*data->val), (std::map<std::int64_t, int>{{0, 3}, {1, 1}, {2, 1}}));
  EXPECT_EQ(class_counts(*data->train), (std::map<std::int64_t, int>{{0, 7}, {1, 5}, {2, 3}}));
}

TEST(OpenData, takes_a_share_with_at_least_one_of_every_class) {
  const ScratchFolder folder;
  write_labelled(folder.path(), {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2});
  config::DataConfig config = mnist_at(folder.path());
  config.sample_ratio = 0.5;
  const auto data = open_data(config);
  ASSERT_TRUE(data);
  EXPECT_EQ(class_counts(*data->train), (std::map<std::int64_t, int>{{0, 9}, {1, 1}, {2, 1}}));
}

TEST(OpenData, keeps_only_the_named_classes_labelled_in_their_order) {
  const ScratchFolder folder;
  write_small_cifar(folder.path());
  config::DataConfig config;
  config.path = folder.path().string();
  config.classes = {"dog", "cat"};
  const auto data = open_data(config);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_THAT(data->train->info().class_names, ElementsAre("dog", "cat"));
  ASSERT_EQ(data->train->size(), 2);
  EXPECT_EQ(data->train->name(0), "train/3");
  EXPECT_EQ(data->train->label(0), 1);
  EXPECT_EQ(data->train->label(1), 0);
  Sample sample;
  ASSERT_TRUE(data->train->read(0, sample));
  EXPECT_EQ(sample.image.pixels[0], 103);

  config.classes = {"cat", "dgo"};
  const auto wrong = open_data(config);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::Usage);
  EXPECT_THAT(wrong.error().message, HasSubstr("did you mean 'dog'"));
}

TEST(OpenData, names_a_sample_whose_label_is_out_of_range) {
  const ScratchFolder folder;
  write_labelled(folder.path(), {0, 1, 12, 3});
  const auto data = open_data(mnist_at(folder.path()));
  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().kind, ErrorKind::Corrupt);
  EXPECT_THAT(data.error().message, HasSubstr("train/2"));
  EXPECT_THAT(data.error().message, HasSubstr("12"));
}

TEST(OpenData, refuses_splits_that_cannot_be) {
  config::DataConfig both = synthetic(10);
  both.val_ratio = 0.1;
  both.val_count = 1;
  EXPECT_EQ(open_data(both).error().kind, ErrorKind::Usage);
  config::DataConfig too_many = synthetic(10);
  too_many.val_count = 10;
  EXPECT_THAT(open_data(too_many).error().message, HasSubstr("10"));
  config::DataConfig all = synthetic(10);
  all.val_ratio = 1.0;
  EXPECT_EQ(open_data(all).error().kind, ErrorKind::Usage);
}

TEST(OpenData, may_hold_out_nothing) {
  config::DataConfig config = synthetic(10);
  config.val_count = 0;
  const auto data = open_data(config);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->val->size(), 0);
  EXPECT_EQ(data->train->size(), 10);
}

class MixTest : public testing::Test {
 protected:
  MixTest() {
    write_labelled(folder_ / "a", std::vector<std::uint8_t>(24, 1));
    write_labelled(folder_ / "b", std::vector<std::uint8_t>(8, 2));
    config_.name = "mnist";
    config_.mix = {{(folder_ / "a").string(), 3}, {(folder_ / "b").string(), 7}};
    config_.val_count = 0;
  }

  ScratchFolder folder_;
  config::DataConfig config_;
};

TEST_F(MixTest, holds_the_ratio_in_every_window) {
  const auto data = open_data(config_);
  ASSERT_TRUE(data) << data.error().message;
  ASSERT_EQ(data->train->size(), 32);
  std::vector<int> from_a;
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    for (std::int64_t position = 0; position < 32; ++position) {
      const std::int64_t index =
          data->train->index_at({.seed = 5, .epoch = epoch, .shuffle = true}, position);
      from_a.push_back(data->train->label(index) == 1 ? 1 : 0);
    }
  }
  for (std::size_t start = 0; start + 10 <= from_a.size(); ++start) {
    int count = 0;
    for (std::size_t i = start; i < start + 10; ++i) {
      count += from_a[i];
    }
    ASSERT_EQ(count, 3) << "window at " << start;
  }
}

TEST_F(MixTest, sees_a_set_whole_before_repeating_a_sample) {
  const auto data = open_data(config_);
  ASSERT_TRUE(data);
  std::map<std::int64_t, int> seen;
  int draws = 0;
  for (std::int64_t step = 0; draws < 80; ++step) {
    const std::int64_t index =
        data->train->index_at({.seed = 5, .epoch = step / 32, .shuffle = true}, step % 32);
    if (data->train->label(index) == 2) {
      ++seen[index];
      ++draws;
    }
  }
  ASSERT_EQ(seen.size(), 8U);
  for (const auto& [index, count] : seen) {
    EXPECT_EQ(count, 10);
  }
}

TEST_F(MixTest, never_trains_on_a_held_out_sample) {
  config_.val_count.reset();
  config_.val_ratio = 0.25;
  const auto data = open_data(config_);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->val->size(), 8);
  EXPECT_EQ(class_counts(*data->val), (std::map<std::int64_t, int>{{1, 6}, {2, 2}}));
  const auto key = [](const Dataset& set, std::int64_t i) {
    return std::to_string(set.label(i)) + set.name(i);
  };
  std::set<std::string> held;
  for (std::int64_t i = 0; i < data->val->size(); ++i) {
    held.insert(key(*data->val, i));
  }
  for (std::int64_t epoch = 0; epoch < 10; ++epoch) {
    for (std::int64_t position = 0; position < data->train->size(); ++position) {
      const std::int64_t index =
          data->train->index_at({.seed = 1, .epoch = epoch, .shuffle = true}, position);
      ASSERT_FALSE(held.contains(key(*data->train, index)));
    }
  }
}

TEST_F(MixTest, refuses_bad_weights_other_classes_and_a_set_twice) {
  config_.mix.begin()->second = 0;
  EXPECT_EQ(open_data(config_).error().kind, ErrorKind::Usage);
  config_.mix = {{(folder_ / "a").string(), 1}, {"synthetic", 1}};
  EXPECT_THAT(open_data(config_).error().message, HasSubstr("do not fit together"));
  config_.mix = {{(folder_ / "a").string(), 1}, {(folder_ / "b/../a").string(), 1}};
  EXPECT_THAT(open_data(config_).error().message, HasSubstr("twice"));
  config_.mix = {{(folder_ / "a").string(), 1}};
  config_.path = "x";
  EXPECT_EQ(open_data(config_).error().kind, ErrorKind::Usage);
}

TEST(Mix, of_images_that_differ_in_size_has_no_size_of_its_own) {
  const ScratchFolder folder;
  write_small_cifar(folder.path());
  config::DataConfig config;
  config.classes = {"dog", "cat"};
  config.image_size = 8;
  config.mix = {{folder.path().string(), 1}, {"synthetic", 1}};
  const auto data = open_data(config);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->train->info().image_shape(), (ImageShape{.channels = 3}));
  config.channels = 1;
  EXPECT_THAT(open_data(config).error().message, HasSubstr("do not fit together"));
}

TEST(Apportion, gives_whole_shares_that_add_up) {
  EXPECT_THAT(apportion(10, {10, 10, 10}), ElementsAre(4, 3, 3));
  EXPECT_THAT(apportion(7, {50, 30, 20}), ElementsAre(4, 2, 1));  // 3.5 2.1 1.4
  EXPECT_THAT(apportion(3, {1, 1, 1}), ElementsAre(1, 1, 1));
  EXPECT_THAT(apportion(0, {5, 0}), ElementsAre(0, 0));
}

}  // namespace
}  // namespace kedge::data
