// Knows how a sample becomes the fields of a batch: the loader around it sees only fields. Safe
// from many threads, each with its own Sample and draft.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/result.h"
#include "data/dataset.h"
#include "data/field.h"
#include "data/internal/batch_draft.h"
#include "data/pipeline.h"

namespace kedge::data {

class SampleFiller {
 public:
  SampleFiller(const Dataset& dataset, const Pipeline& pipeline, std::vector<FieldInfo> fields)
      : dataset_(dataset), pipeline_(pipeline), fields_(std::move(fields)) {}

  virtual ~SampleFiller() = default;

  const std::vector<FieldInfo>& fields() const { return fields_; }

  // Puts all fields of a sample into the draft; `scratch` is memory to work in. Corrupt when the
  // sample cannot be read, and nothing was put.
  virtual Result<void> fill(std::int64_t index, Visit visit, Sample& scratch,
                            BatchDraft& draft) const = 0;

 protected:
  const Dataset& dataset_;
  const Pipeline& pipeline_;
  const std::vector<FieldInfo> fields_;
};

// Samples as the data set reads them, images after the pipeline; with `placed` (LoaderOptions) only
// where their pixels are. `dataset` and `pipeline` must outlive the filler.
std::unique_ptr<SampleFiller> make_sample_filler(const Dataset& dataset, const Pipeline& pipeline,
                                                 const std::optional<ImageShape>& placed);

}  // namespace kedge::data
