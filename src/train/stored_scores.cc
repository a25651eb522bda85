#include "train/stored_scores.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kedge::train {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;

class ScoredSamples : public data::Dataset {
 public:
  ScoredSamples(std::unique_ptr<data::Dataset> samples, ScoresInfo scores, MappedFile file)
      : samples_(std::move(samples)),
        scores_(std::move(scores)),
        file_(std::move(file)),
        info_(samples_->info()) {
    info_.fields.push_back({.name = std::string(kTeacherScores),
                            .type = data::FieldType::U8,
                            .shape = {scores_.scores_bytes()}});
    if (!scores_.keeps_all()) {
      info_.fields.push_back({.name = std::string(kTeacherIds),
                              .type = data::FieldType::I32,
                              .shape = {scores_.positions, scores_.kept}});
    }
  }

  const data::DatasetInfo& info() const override { return info_; }

  std::int64_t size() const override { return samples_->size(); }

  std::int64_t label(std::int64_t index) const override { return samples_->label(index); }

  std::string name(std::int64_t index) const override { return samples_->name(index); }

  Result<void> read(std::int64_t index, data::Sample& sample) const override {
    KEDGE_TRY(samples_->read(index, sample));
    const std::size_t own = samples_->info().fields.size();
    const std::uint8_t* from = file_.bytes().data() + index * scores_.sample_bytes();
    const auto scores = sample.row<std::uint8_t>(own, scores_.scores_bytes());
    std::memcpy(scores.data(), from, scores.size_bytes());
    if (!scores_.keeps_all()) {
      const auto ids = sample.row<std::int32_t>(own + 1, scores_.positions * scores_.kept);
      std::memcpy(ids.data(), from + scores.size_bytes(), ids.size_bytes());
    }
    return {};
  }

  std::string digest() const override { return samples_->digest(); }

  std::int64_t index_at(const data::OrderKey& key, std::int64_t position) const override {
    return samples_->index_at(key, position);
  }

 private:
  std::unique_ptr<data::Dataset> samples_;
  ScoresInfo scores_;
  MappedFile file_;
  data::DatasetInfo info_;
};

std::unexpected<Error> refuse(const config::DistillConfig& config, std::string_view what,
                              std::string_view hint) {
  return fail(ErrorKind::Usage, fmt::format("distill.scores: {} {}", config.scores, what),
              std::string(hint));
}

Result<void> check(const ScoresInfo& found, const ScoresInfo& expected,
                   const config::DistillConfig& config) {
  constexpr std::string_view kAgain = "`kedge score` writes them of this config, to another folder";
  if (found.classes != expected.classes) {
    return refuse(config,
                  fmt::format("has scores for {} classes or tokens, the model for {}",
                              found.classes, expected.classes),
                  kAgain);
  }
  if (found.positions != expected.positions) {
    return refuse(config,
                  fmt::format("has {} scored positions a sample, the data {}", found.positions,
                              expected.positions),
                  kAgain);
  }
  if (found.data_digest != expected.data_digest || found.samples != expected.samples) {
    return refuse(config, "is of other data, or of another split of them", kAgain);
  }
  if (found.temperature != config.temperature) {
    return refuse(
        config,
        fmt::format("was written for distill.temperature {:g}, not {:g}", found.temperature,
                    config.temperature),
        fmt::format("set distill.temperature={:g}, or write other scores", found.temperature));
  }
  return {};
}

}  // namespace

std::int64_t ScoresInfo::sample_bytes() const {
  constexpr std::int64_t kIdBytes = 4;
  return scores_bytes() + (keeps_all() ? 0 : positions * kept * kIdBytes);
}

std::string ScoresInfo::to_json() const {
  return json{
             {"version", kVersion},        {"teacher", teacher}, {"teacher_digest", teacher_digest},
             {"data_digest", data_digest}, {"samples", samples}, {"positions", positions},
             {"classes", classes},         {"kept", kept},       {"temperature", temperature}}
             .dump(2) +
         "\n";
}

Path scores_file(const Path& folder) {
  return folder / "scores.bin";
}

Result<ScoresInfo> read_scores_info(const Path& folder) {
  const Path path = folder / "scores.json";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return fail(ErrorKind::NotFound, fmt::format("no scores of a teacher in {}", folder.string()),
                "`kedge score CONFIG` writes them there");
  }
  const json object = json::parse(KEDGE_TRY(read_file(path)), nullptr, /*allow_exceptions=*/false);
  ScoresInfo info;
  try {
    if (object.at("version") != kVersion) {
      return fail(ErrorKind::Usage,
                  fmt::format("{} is of version {}", path.string(), object["version"].dump()),
                  "write the scores again");
    }
    info = {.teacher = object.at("teacher").get<std::string>(),
            .teacher_digest = object.at("teacher_digest").get<std::string>(),
            .data_digest = object.at("data_digest").get<std::string>(),
            .samples = object.at("samples").get<std::int64_t>(),
            .positions = object.at("positions").get<std::int64_t>(),
            .classes = object.at("classes").get<std::int64_t>(),
            .kept = object.at("kept").get<std::int64_t>(),
            .temperature = object.at("temperature").get<double>()};
  } catch (const json::exception&) {
    return fail(ErrorKind::Corrupt, fmt::format("{} does not describe scores", path.string()),
                "write the scores again");
  }
  if (info.positions < 1 || info.kept < 1 || info.kept > info.classes || info.samples < 1) {
    return fail(ErrorKind::Corrupt, fmt::format("{} has sizes that cannot be", path.string()),
                "write the scores again");
  }
  return info;
}

ScoresInfo expected_scores(const Preparation& preparation, const data::TrainVal& data) {
  const std::vector<std::int64_t> shape = preparation.signature.scores_shape(1);
  return {.teacher = "",
          .teacher_digest = "",
          .data_digest = data.digest,
          .samples = data.train->size(),
          .positions = shape.size() > 2 ? shape[1] : 1,
          .classes = shape.back(),
          .kept = 0,
          .temperature = 1};
}

Result<std::unique_ptr<data::Dataset>> with_stored_scores(std::unique_ptr<data::Dataset> samples,
                                                          const config::DistillConfig& config,
                                                          const ScoresInfo& expected) {
  const ScoresInfo info = KEDGE_TRY(read_scores_info(config.scores));
  KEDGE_TRY(check(info, expected, config));
  MappedFile file = KEDGE_TRY(MappedFile::open(scores_file(config.scores)));
  const auto there = static_cast<std::int64_t>(file.bytes().size()) / info.sample_bytes();
  if (there < info.samples) {
    return refuse(config, fmt::format("has scores of {} of {} samples", there, info.samples),
                  "`kedge score` again goes on where it stopped");
  }
  return std::make_unique<ScoredSamples>(std::move(samples), info, std::move(file));
}

}  // namespace kedge::train
