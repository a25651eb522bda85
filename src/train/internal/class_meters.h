// What is measured of samples that belong to one class each.
#pragma once

#include <cstdint>
#include <memory>

#include "core/result.h"
#include "data/dataset.h"
#include "nn/signature.h"
#include "train/meters.h"
#include "train/task.h"

namespace kedge::train {

// model.classes, or as many as the data has. Usage where they are fewer than that.
Result<std::int64_t> count_classes(std::int64_t wanted, const data::DatasetInfo& info);

// Accuracy, top-5 of more than five classes, and the confusion matrix where it is asked for.
std::unique_ptr<Meters> make_class_meters(const nn::Signature& signature,
                                          const MeterOptions& options);

}  // namespace kedge::train
