// Answers that name the best classes of an item, with their probabilities.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nn/model_input.h"
#include "use/internal/predictor.h"

namespace kedge::use {

// class1, score1, class2, ...
std::vector<std::string> class_columns(std::int64_t top_k);

// Of each row of the model's scores.
std::vector<Answer> best_classes(const PredictorParts& parts, const nn::ModelInput& input);

}  // namespace kedge::use
