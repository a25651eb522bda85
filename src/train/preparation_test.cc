#include "train/preparation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kedge::train {
namespace {

using testing::HasSubstr;

// Grey 4x4 images; those below `first_good` cannot be decoded.
class FakeImages final : public data::Dataset {
 public:
  explicit FakeImages(std::int64_t first_good) : first_good_(first_good) {
    info_.fields = data::image_fields({.channels = 1});
    info_.class_names = {"a", "b", "c", "d", "e", "f"};
    info_.mean = {0.5};
    info_.std = {0.25};
  }

  const data::DatasetInfo& info() const override { return info_; }

  std::int64_t size() const override { return 3; }

  std::int64_t label(std::int64_t index) const override { return index; }

  std::string name(std::int64_t index) const override { return std::to_string(index); }

  Result<void> read(std::int64_t index, data::Sample& sample) const override {
    if (index < first_good_) {
      return fail(ErrorKind::Corrupt, "image " + name(index) + " is torn");
    }
    sample.image = {
        .height = 4, .width = 4, .channels = 1, .pixels = std::vector<std::uint8_t>(16)};
    return {};
  }

  std::string digest() const override { return "fake"; }

 private:
  std::int64_t first_good_;
  data::DatasetInfo info_;
};

Result<Preparation> prepare_with(const config::Config& config, std::int64_t first_good = 0,
                                 const std::vector<std::string>& steps = {}) {
  return prepare(config, FakeImages(first_good), *data::Pipeline::parse(steps));
}

TEST(Preparation, images_have_their_size_after_the_eval_transforms) {
  const auto made = prepare_with({}, 0, {"resize 6 8"});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->signature.height, 6);
  EXPECT_EQ(made->signature.width, 8);
  EXPECT_EQ(made->signature.classes, 6);
  EXPECT_EQ(made->normalise.mean, std::vector<double>{0.5});
}

TEST(Preparation, survives_json) {
  const auto made = prepare_with({}, 0, {"resize 6 8"});
  const auto back = Preparation::from_json(made->to_json());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->to_json(), made->to_json());
  auto json = made->to_json();
  json["task"].erase("name");
  EXPECT_EQ(Preparation::from_json(json)->task_name, "classification") << "as older ones wrote it";
  json.erase("mean");
  EXPECT_FALSE(Preparation::from_json(json));
}

TEST(Preparation, a_torn_first_image_stops_only_where_errors_do) {
  config::Config config;
  EXPECT_FALSE(prepare_with(config, 2));
  config.data.on_error = config::OnError::Skip;
  EXPECT_TRUE(prepare_with(config, 2));
  const auto none = prepare_with(config, 3);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("none of the 3 training samples"));
}

TEST(Preparation, fewer_outputs_than_classes_are_refused) {
  config::Config config;
  config.model.classes = 5;
  EXPECT_FALSE(prepare_with(config));
  config.model.classes = 7;
  EXPECT_EQ(prepare_with(config)->signature.classes, 7);
}

TEST(MetricNames, a_metric_that_is_never_reported_is_refused) {
  config::Config config;
  const auto made = prepare_with(config);
  config.checkpoint.metric = "val/top5";
  EXPECT_TRUE(check_metric_names(config, *made, true));
  EXPECT_FALSE(check_metric_names(config, *made, false)) << "there is no validation";
  config.checkpoint.metric = "";
  config.early_stop.patience = 3;
  config.early_stop.metric = "train/accuracy";
  EXPECT_TRUE(check_metric_names(config, *made, true));
  config.train.mixup = 0.2;
  const auto mixed = check_metric_names(config, *made, true);
  ASSERT_FALSE(mixed) << "mixed images have no one class";
  EXPECT_EQ(mixed.error().kind, ErrorKind::Usage);
  EXPECT_THAT(mixed.error().message, HasSubstr("early_stop.metric"));
}

}  // namespace
}  // namespace kedge::train
