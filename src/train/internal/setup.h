// The parts of one training, made from its config: device, data, model, optimizer, loaders.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

#include "config/config.h"
#include "core/result.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "data/pipeline.h"
#include "device/context.h"
#include "dist/process_group.h"
#include "kernels/jpeg.h"
#include "kernels/place_images.h"
#include "nn/loss.h"
#include "nn/model.h"
#include "nn/weights.h"
#include "parallel/strategy.h"
#include "train/inputs.h"
#include "train/internal/resident.h"
#include "train/internal/teacher.h"
#include "train/optimizer.h"
#include "train/preparation.h"

namespace kedge::train {

// In the order in which each part needs the ones before.
struct Setup {
  device::ContextPtr context;
  data::TrainVal data;
  data::Pipeline train_pipeline;
  data::Pipeline eval_pipeline;
  Preparation preparation;
  std::unique_ptr<nn::Model> model;
  // Where the model's frozen weights are; nothing: in every checkpoint.
  std::optional<nn::BaseWeights> base;
  std::unique_ptr<nn::Loss> loss;
  std::unique_ptr<Teacher> teacher;  // null: none
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<kernels::JpegDecoder> jpeg;  // null: libjpeg alone; outlives the loaders
  std::unique_ptr<data::Loader> train_loader;
  std::unique_ptr<data::Loader> val_loader;
  std::optional<kernels::PlaceImages> place_images;
  std::optional<Resident> train_resident;  // where the images are on the device
  std::optional<Resident> val_resident;
  std::string jpeg_decoder;  // "nvJPEG 13.0"; empty: libjpeg
  std::unique_ptr<InputMaker> make_inputs;
  std::unique_ptr<InputMaker> make_val_inputs;
  std::unique_ptr<dist::ProcessGroup> group;
  std::unique_ptr<parallel::Strategy> strategy;
};

// Nothing is written; an error says which value of the config cannot be had. The ranks of `group`
// each make theirs.
Result<std::unique_ptr<Setup>> make_setup(const config::Config& config,
                                          std::unique_ptr<dist::ProcessGroup> group);

}  // namespace kedge::train
