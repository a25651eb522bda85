#include "data/internal/sample_filler.h"

#include <array>
#include <cstddef>
#include <span>

namespace kedge::data {
namespace {

template <typename T>
std::span<const std::uint8_t> bytes_of(const T& value) {
  return {reinterpret_cast<const std::uint8_t*>(&value), sizeof value};
}

// Any data set: the image goes through the pipeline, every other field is taken as it is.
class ReadSamples final : public SampleFiller {
 public:
  ReadSamples(const Dataset& dataset, const Pipeline& pipeline)
      : SampleFiller(dataset, pipeline, dataset.info().fields) {}

  Result<void> fill(std::int64_t index, Visit visit, Sample& scratch,
                    BatchDraft& draft) const override {
    KEDGE_TRY(dataset_.read(index, scratch));
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (&fields_[i] == image_) {
        pipeline_.apply(scratch.image, visit);
        KEDGE_TRY(put_image(i, index, scratch.image, draft));
      } else if (&fields_[i] == label_) {
        KEDGE_TRY(draft.put(i, {.index = index, .bytes = bytes_of(dataset_.label(index))}));
      } else {
        KEDGE_CHECK(i < scratch.rows.size(), "read() fills every field of the info");
        KEDGE_TRY(draft.put(i, {.index = index, .bytes = scratch.rows[i]}));
      }
    }
    return {};
  }

 private:
  static Result<void> put_image(std::size_t field, std::int64_t index, const Image& image,
                                BatchDraft& draft) {
    return draft.put(field, {.index = index,
                             .bytes = image.pixels,
                             .shape = std::array{image.height, image.width, image.channels}});
  }

  const FieldInfo* image_ = find_field(fields_, kImage);  // null where samples have none
  const FieldInfo* label_ = find_field(fields_, kLabel);
};

Placement placement_of(std::int64_t index, const ImageShape& source, const Pipeline& pipeline,
                       Visit& visit) {
  Placement placement{.index = static_cast<std::int32_t>(index),
                      .height = static_cast<std::int32_t>(source.height),
                      .width = static_cast<std::int32_t>(source.width)};
  pipeline.place(placement, visit);
  return placement;
}

// A pipeline that can place gives all images one size.
std::vector<FieldInfo> placed_fields(const ImageShape& source, const Pipeline& pipeline) {
  Visit visit{.random = Random(0)};
  const Placement any = placement_of(0, source, pipeline, visit);
  std::vector<FieldInfo> fields = image_fields({any.height, any.width, source.channels});
  fields.front().type = FieldType::Placement;
  return fields;
}

// Images whose pixels are elsewhere already: nothing is read.
class PlacedImages final : public SampleFiller {
 public:
  PlacedImages(const Dataset& dataset, const Pipeline& pipeline, const ImageShape& source)
      : SampleFiller(dataset, pipeline, placed_fields(source, pipeline)), source_(source) {}

  Result<void> fill(std::int64_t index, Visit visit, Sample&, BatchDraft& draft) const override {
    const Placement placement = placement_of(index, source_, pipeline_, visit);
    KEDGE_TRY(draft.put(0, {.index = index, .bytes = bytes_of(placement)}));
    return draft.put(1, {.index = index, .bytes = bytes_of(dataset_.label(index))});
  }

 private:
  ImageShape source_;
};

}  // namespace

std::unique_ptr<SampleFiller> make_sample_filler(const Dataset& dataset, const Pipeline& pipeline,
                                                 const std::optional<ImageShape>& placed) {
  if (placed) {
    return std::make_unique<PlacedImages>(dataset, pipeline, *placed);
  }
  return std::make_unique<ReadSamples>(dataset, pipeline);
}

}  // namespace kedge::data
