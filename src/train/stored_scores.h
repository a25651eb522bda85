// A teacher's scores of a data set, written once by `kedge score` and learnt from by any number of
// trainings: a folder with scores.json and scores.bin (docs/formats/scores.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/config.h"
#include "core/file.h"
#include "core/result.h"
#include "data/dataset.h"
#include "train/preparation.h"

namespace kedge::train {

// Fields of samples that have them: U8, the float16 logarithms of the kept probabilities and of all
// others' together [positions, kept + 1]; I32 [positions, kept], whose they are, where not all are
// kept.
inline constexpr std::string_view kTeacherScores = "teacher_scores";
inline constexpr std::string_view kTeacherIds = "teacher_ids";

// What scores.json says.
struct ScoresInfo {
  std::string teacher;         // its path, for a person
  std::string teacher_digest;  // of its weights
  std::string data_digest;     // TrainVal::digest
  std::int64_t samples = 0;    // of the training split
  std::int64_t positions = 0;  // of a sample that are scored: 1, or its tokens
  std::int64_t classes = 0;    // of each position, or tokens of the vocabulary
  std::int64_t kept = 0;       // the likeliest; classes: all
  double temperature = 1;      // that the scores were divided by

  bool operator==(const ScoresInfo&) const = default;

  bool keeps_all() const { return kept == classes; }

  std::int64_t scores_bytes() const { return positions * (kept + 1) * 2; }

  std::int64_t sample_bytes() const;

  std::string to_json() const;
};

Path scores_file(const Path& folder);

// NotFound: there is none; Corrupt: it is not one.
Result<ScoresInfo> read_scores_info(const Path& folder);

// What the scores of this data and model must be; teacher, kept and temperature are left open.
ScoresInfo expected_scores(const Preparation& preparation, const data::TrainVal& data);

// The training split with the fields above, out of the folder that distill.scores names. Usage:
// they are of other data, another size of vocabulary or context, another temperature, or not
// complete.
Result<std::unique_ptr<data::Dataset>> with_stored_scores(std::unique_ptr<data::Dataset> samples,
                                                          const config::DistillConfig& config,
                                                          const ScoresInfo& expected);

}  // namespace kedge::train
