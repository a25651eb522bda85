#include "train/internal/setup.h"

#include <filesystem>
#include <future>

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "core/log.h"
#include "core/units.h"
#include "data/decode.h"
#include "device/device.h"
#include "device/plugin.h"
#include "device/precision.h"
#include "kernels/jpeg.h"
#include "nn/lora.h"
#include "nn/quantized_weight.h"
#include "nn/script_model.h"
#include "nn/weights.h"
#include "nn/whitening.h"
#include "train/internal/first_weights.h"
#include "train/internal/random_state.h"
#include "train/reference.h"
#include "train/saved_model.h"
#include "train/stored_scores.h"

namespace kedge::train {
namespace {

Result<void> check_batch_size(const config::Config& config, const data::Dataset& train) {
  const std::int64_t batch = config.loader.batch_size;
  if (train.size() == 0) {
    return fail(ErrorKind::Usage, "there is nothing to train on: the training set is empty",
                "lower data.val_ratio or data.val_count, or raise data.sample_ratio");
  }
  if (batch > train.size() && config.loader.drop_last) {
    return fail(ErrorKind::Usage,
                fmt::format("loader.batch_size is {}, but the training set has {} samples, and "
                            "loader.drop_last leaves nothing",
                            batch, train.size()),
                "lower loader.batch_size, or set loader.drop_last=false");
  }
  if (batch > train.size()) {
    warn("loader.batch_size {} is larger than the training set: one batch of {} per epoch", batch,
         train.size());
  }
  return {};
}

Result<void> check_quantized(const config::Config& config) {
  if (config.model.quantize != config::Quantize::None && !config.model.lora.is_on()) {
    return fail(ErrorKind::Usage, "model.quantize: weights in few bits cannot be trained",
                "train adapters beside them (model.lora.rank=16), or leave model.quantize out");
  }
  return {};
}

// Checkpoints name the file that weights in few bits are from.
Result<void> check_base_is_named(const config::Config& config, const Setup& setup) {
  if (config.model.quantize != config::Quantize::None && !setup.base && config.checkpoint.enabled) {
    return fail(ErrorKind::Usage,
                "model.quantize: no file holds all weights beside the adapters, and checkpoints "
                "could not name it",
                "name whole weights with model.file or model.weights, or set "
                "checkpoint.enabled=false to try random ones");
  }
  return {};
}

Result<std::unique_ptr<nn::Model>> make_trained_model(const config::Config& config, Setup& setup) {
  KEDGE_TRY(check_quantized(config));
  torch::manual_seed(static_cast<std::uint64_t>(config.seed));
  auto model = KEDGE_TRY(
      nn::make_model(config.model, setup.preparation.signature, {.context = setup.context}));
  if (setup.group->is_first()) {
    nn::warn_if_traced_in_eval(*model, config.model.file);
  }
  const auto start = KEDGE_TRY(find_first_weights(config, setup.group->is_first()));
  // Every byte of the file is read for it: beside the loading.
  std::future<Result<nn::BaseWeights>> base;
  if (config.model.lora.is_on() && !start.weights.empty()) {
    base = std::async(std::launch::async, nn::name_base, start.weights);
  }
  const auto report = KEDGE_TRY(nn::apply_weights(*model, start));
  if (!start.weights.empty()) {
    say("weights: {} tensors from {}{}", report.loaded, start.weights,
        report.new_head.empty() ? "" : fmt::format("; the head {} is new", model->names().head));
  }
  if (base.valid() && report.new_head.empty()) {
    setup.base = KEDGE_TRY(base.get());
    setup.base->lora = KEDGE_TRY(nn::complete_lora(config.model.lora));
  }
  KEDGE_TRY(check_base_is_named(config, setup));
  if (start.weights.empty()) {
    nn::fill_quantized(*model);
  }
  if (config.loss.router_aux && !model->aux_loss_coefficient()) {
    return fail(ErrorKind::Usage, "loss.router_aux: the model has no mixture of experts",
                "leave loss.router_aux out");
  }
  if (config.train.recompute && !model->recompute_blocks()) {
    return fail(ErrorKind::Usage, "train.recompute: this model is not made of blocks",
                "leave train.recompute out");
  }
  model->to(setup.context->device);
  if (setup.context->precision == config::Precision::Bf16Pure) {
    model->to(at::kBFloat16);
  }
  if (setup.context->precision == config::Precision::Fp64) {
    model->to(at::kDouble);
  }
  if (config.train.channels_last) {
    use_channels_last(*model);
  }
  return model;
}

// A teacher, or what it said before training.
Result<void> find_teacher(const config::Config& config, Setup& setup) {
  if (!config.distill.scores.empty()) {
    const ScoresInfo expected = expected_scores(setup.preparation, setup.data);
    setup.data.train =
        KEDGE_TRY(with_stored_scores(std::move(setup.data.train), config.distill, expected));
    return {};
  }
  setup.teacher = KEDGE_TRY(Teacher::load(config, setup.preparation, setup.context));
  if (setup.teacher != nullptr && setup.group->is_first()) {
    say("teacher  {}: {} parameters", config.distill.teacher,
        render_grouped(static_cast<std::uint64_t>(nn::count_parameters(setup.teacher->model()))));
  }
  return {};
}

Result<void> check_documents(const config::Config& config, const Setup& setup) {
  const auto& fields = setup.data.train->info().fields;
  if (data::find_field(fields, data::kDocuments) == nullptr) {
    return {};
  }
  if (setup.teacher != nullptr && !setup.teacher->model().takes_documents()) {
    return fail(ErrorKind::Usage,
                fmt::format("samples hold several documents, which {} cannot tell apart",
                            config.distill.teacher),
                "set data.pack=false: one document a sample; or choose another distill.teacher");
  }
  if (setup.model->takes_documents()) {
    return {};
  }
  return fail(ErrorKind::Usage,
              fmt::format("samples hold several documents, which {} cannot tell apart",
                          config.model.file.empty() ? config.model.name : config.model.file),
              "set data.pack=false: one document a sample; or choose another model");
}

// Before the first step, and before a checkpoint is restored: of the model as training began.
Result<void> add_references(const config::Config& config, Setup& setup) {
  if (!needs_reference(*setup.data.train)) {
    return {};
  }
  const ReferenceParts parts{config, setup.preparation, *setup.model, setup.context, *setup.group};
  for (std::unique_ptr<data::Dataset>* split : {&setup.data.train, &setup.data.val}) {
    if (*split != nullptr && (*split)->size() > 0) {
      *split = KEDGE_TRY(with_reference(std::move(*split), parts));
    }
  }
  return {};
}

// Training images may differ in size from validation's where the network takes both; where it does
// not, the first batch would fail inside libtorch.
Result<void> check_train_images(const config::Config& config, const Setup& setup) {
  const nn::Signature& eval = setup.preparation.signature;
  const nn::Signature train = KEDGE_TRY(
      setup.preparation.task->find_signature(config, *setup.data.train, setup.train_pipeline));
  if (train == eval) {
    return {};
  }
  const std::string sizes = fmt::format(
      "transform.train makes images of {}x{} pixels with {} channels, transform.eval of {}x{} with "
      "{}",
      train.height, train.width, train.channels, eval.height, eval.width, eval.channels);
  try {
    const torch::NoGradGuard no_grad;
    setup.model->set_training(false);
    setup.model->forward(train.zeros(1).to(setup.model->parameters().front().second.options()));
  } catch (const std::exception& error) {
    return fail(ErrorKind::Usage,
                fmt::format("{}, and {} cannot take both", sizes,
                            config.model.file.empty() ? config.model.name : config.model.file),
                "end both lists with the same size, for example `resize 32 32`");
  }
  return {};
}

// The batch of each rank and of all, from the number that the config gives.
void set_batch_size(const config::Config& config, std::int64_t given,
                    data::LoaderOptions& options) {
  const bool is_global = config.dist.batch == config::BatchMeaning::Global;
  options.batch_size = is_global ? (given + options.ranks - 1) / options.ranks : given;
  options.global_batch = is_global ? given : given * options.ranks;
}

data::LoaderOptions loader_options(const config::Config& config, const Setup& setup) {
  return {
      .batch_size = config.loader.batch_size,
      .workers = loader_workers(config.loader.workers, setup.context->device),
      // The micro-batches of a step are taken at once.
      .prefetch = std::max(config.loader.prefetch, config.train.accumulate),
      .shuffle = config.loader.shuffle,
      .drop_last = config.loader.drop_last,
      .skip_bad = config.data.on_error == config::OnError::Skip,
      .seed = static_cast<std::uint64_t>(config.seed),
      .rank = setup.strategy->data_group().rank(),
      .ranks = setup.strategy->data_group().size(),
      .allocate = batch_allocator(setup.context->device, config.loader.pin_memory.value_or(true))};
}

// Of the device's free memory; the rest is for the model, its activations and the optimizer.
constexpr double kResidentFraction = 0.25;

// Why the images stay where they are, or nothing when they were brought to the device.
Result<std::optional<std::string>> try_resident(const config::Config& config, Setup& setup) {
  const bool has_val = setup.data.val != nullptr && setup.data.val->size() > 0;
  if (auto why = why_not_resident(*setup.data.train, setup.train_pipeline)) {
    return why;
  }
  if (auto why = has_val ? why_not_resident(*setup.data.val, setup.eval_pipeline) : std::nullopt) {
    return why;
  }
  if (config.data.on_error == config::OnError::Skip) {
    return "data.on_error is skip: samples that cannot be decoded are found as they come";
  }
  if (setup.context->device.is_cuda()) {
    if (device::plugin() == nullptr) {
      return device::why_missing();
    }
    setup.place_images = KEDGE_TRY(kernels::PlaceImages::make(*device::plugin()));
  }
  const auto samples =
      static_cast<double>(setup.data.train->size() + (has_val ? setup.data.val->size() : 0));
  const nn::Signature& image = setup.preparation.signature;
  const double needed = samples * static_cast<double>(image.height * image.width * image.channels);
  const double room =
      kResidentFraction * static_cast<double>(device::free_memory_bytes(setup.context->device));
  if (needed > room && !config.loader.resident.value_or(false)) {
    return fmt::format("they take {} and a quarter of the device's free memory is {}",
                       render_bytes({static_cast<std::uint64_t>(needed)}),
                       render_bytes({static_cast<std::uint64_t>(room)}));
  }
  setup.train_resident =
      KEDGE_TRY(make_resident(*setup.data.train, setup.train_pipeline, setup.context->device));
  if (has_val) {
    setup.val_resident =
        KEDGE_TRY(make_resident(*setup.data.val, setup.eval_pipeline, setup.context->device));
  }
  return std::nullopt;
}

Result<void> place_data(const config::Config& config, Setup& setup) {
  if (!config.loader.resident.value_or(setup.context->device.is_cuda())) {
    return {};
  }
  if (const auto why = KEDGE_TRY(try_resident(config, setup)); why && config.loader.resident) {
    return fail(ErrorKind::Usage,
                fmt::format("loader.resident: the images cannot be kept on the device: {}", *why),
                "leave loader.resident empty, and they are streamed");
  }
  return {};
}

// With more threads libjpeg keeps up with the GPU, and nvJPEG takes time from it: on an H200 it
// made a training 1.4 times as fast with 8 of them and 0.93 times with 16 (bench/README.md).
constexpr std::int64_t kMostHelped = 8;

// For images that are read again in every epoch; without nvJPEG libjpeg goes on decoding them.
void find_jpeg_decoder(const config::Config& config, Setup& setup) {
  const std::int64_t workers = loader_workers(config.loader.workers, setup.context->device);
  const bool is_wanted = config.loader.nvjpeg.value_or(workers <= kMostHelped) &&
                         setup.context->device.is_cuda() && !setup.train_resident &&
                         data::is_jpeg_name(setup.data.train->name(0));
  if (!is_wanted || device::plugin() == nullptr) {
    return;
  }
  auto decoder = kernels::JpegDecoder::make(*device::plugin());
  if (!decoder) {
    return;
  }
  setup.jpeg = std::move(*decoder);
  setup.jpeg_decoder = "nvJPEG " + device::plugin()->jpeg_version().value_or("");
}

void make_input_makers(const config::Config& config, Setup& setup) {
  InputMaker::Options options{.device = setup.context->device,
                              .type = device::input_type(setup.context->precision),
                              .channels_last = config.train.channels_last,
                              .place = setup.place_images ? &*setup.place_images : nullptr};
  // Autocast would convert what goes into the first layer; a TorchScript file may do more with it.
  if (setup.context->precision == config::Precision::Bf16 && setup.context->device.is_cuda() &&
      config.model.file.empty()) {
    options.type = at::kBFloat16;
  }
  options.resident = setup.train_resident ? &*setup.train_resident : nullptr;
  setup.make_inputs = std::make_unique<InputMaker>(setup.preparation, options);
  options.resident = setup.val_resident ? &*setup.val_resident : nullptr;
  setup.make_val_inputs = std::make_unique<InputMaker>(setup.preparation, options);
}

void make_loaders(const config::Config& config, Setup& setup) {
  data::LoaderOptions options = loader_options(config, setup);
  const auto shape_of = [](const std::optional<Resident>& resident) {
    return resident ? std::optional(resident->shape) : std::nullopt;
  };
  options.jpeg = setup.jpeg.get();
  options.placed = shape_of(setup.train_resident);
  set_batch_size(config, config.loader.batch_size, options);
  setup.train_loader =
      std::make_unique<data::Loader>(*setup.data.train, setup.train_pipeline, options);
  if (setup.data.val != nullptr && setup.data.val->size() > 0) {
    options.placed = shape_of(setup.val_resident);
    options.shuffle = false;
    options.drop_last = false;
    if (config.loader.eval_batch_size > 0) {
      set_batch_size(config, config.loader.eval_batch_size, options);
    }
    setup.val_loader =
        std::make_unique<data::Loader>(*setup.data.val, setup.eval_pipeline, options);
  }
}

// Images in random order, without augmentation: what stands first in a folder may be of one class.
Result<void> show_images(const config::Config& config, Setup& setup) {
  auto* model = dynamic_cast<nn::LooksAtImages*>(setup.model.get());
  if (model == nullptr || !config.model.weights.empty()) {
    return {};
  }
  data::LoaderOptions options = loader_options(config, setup);
  options.batch_size = std::min(model->wants_images(), setup.data.train->size());
  options.workers = 0;
  options.shuffle = true;
  options.ranks = 1;
  options.rank = 0;
  data::Loader loader(*setup.data.train, setup.eval_pipeline, options);
  loader.start_epoch(0);
  const auto batch = KEDGE_TRY(loader.next());
  InputMaker make_inputs(setup.preparation, {.device = setup.context->device,
                                             .channels_last = config.train.channels_last});
  if (batch != nullptr && batch->count > 0) {
    model->look_at(make_inputs(*batch).x);
  }
  return {};
}

// BatchNorm over all ranks needs a sample on each: one without would leave the others waiting.
Result<void> check_last_batch(const config::Config& config, const Setup& setup) {
  const std::int64_t ranks = setup.strategy->data_group().size();
  if (ranks == 1 || !config.dist.sync_batchnorm || config.loader.drop_last) {
    return {};
  }
  const std::int64_t batch = config.dist.batch == config::BatchMeaning::Global
                                 ? config.loader.batch_size
                                 : config.loader.batch_size * ranks;
  const std::int64_t last = setup.data.train->size() % batch;
  if ((last > 0 && last < ranks) || batch < ranks) {
    return fail(
        ErrorKind::Usage,
        fmt::format("dist.sync_batchnorm: the last batch has {} samples for {} ranks", last, ranks),
        "set loader.drop_last=true, or another loader.batch_size");
  }
  return {};
}

Result<device::ContextPtr> make_rank_context(const config::Config& config,
                                             dist::ProcessGroup& group) {
  device::Context context = KEDGE_TRY(make_context(config.train));
  if (config.dist.sync_batchnorm && !group.is_alone()) {
    // Shared: a function is copied.
    const std::shared_ptr<dist::ProcessGroup> norm = group.make_twin("norm");
    context.norm_sum = [norm](at::Tensor& tensor) {
      norm->start_all_reduce(tensor, ranks::Collective::Norm)->wait();
    };
  }
  return std::make_shared<const device::Context>(std::move(context));
}

}  // namespace

Result<std::unique_ptr<Setup>> make_setup(const config::Config& config,
                                          std::unique_ptr<dist::ProcessGroup> group) {
  auto setup = std::make_unique<Setup>();
  setup->group = std::move(group);
  apply_compute_settings(config);
  setup->context = KEDGE_TRY(make_rank_context(config, *setup->group));
  setup->train_pipeline = KEDGE_TRY(data::Pipeline::parse(config.transform.train));
  setup->eval_pipeline = KEDGE_TRY(data::Pipeline::parse(config.transform.eval));
  setup->loss = KEDGE_TRY(nn::Losses::make("loss", config.loss.name, config.loss, setup->context));
  setup->data = KEDGE_TRY(data::open_data(config));
  KEDGE_TRY(check_batch_size(config, *setup->data.train));
  setup->preparation = KEDGE_TRY(prepare(config, *setup->data.train, setup->eval_pipeline));
  setup->model = KEDGE_TRY(make_trained_model(config, *setup));
  KEDGE_TRY(find_teacher(config, *setup));
  KEDGE_TRY(check_train_images(config, *setup));
  KEDGE_TRY(check_documents(config, *setup));
  KEDGE_TRY(add_references(config, *setup));
  if (!setup->group->is_first()) {
    seed_rank(static_cast<std::uint64_t>(config.seed), setup->group->rank());
  }
  setup->strategy = KEDGE_TRY(parallel::Strategies::make(
      "strategy", "replicated", {config.dist, *setup->group, *setup->model}));
  setup->optimizer =
      KEDGE_TRY(make_optimizer(*setup->model, config.optimizer, setup->context->fused));
  KEDGE_TRY(place_data(config, *setup));
  find_jpeg_decoder(config, *setup);
  make_input_makers(config, *setup);
  make_loaders(config, *setup);
  KEDGE_TRY(show_images(config, *setup));
  KEDGE_TRY(check_last_batch(config, *setup));
  KEDGE_TRY(check_metric_names(config, setup->preparation, setup->val_loader != nullptr));
  return setup;
}

}  // namespace kedge::train
