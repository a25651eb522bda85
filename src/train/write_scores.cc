#include "train/write_scores.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <unistd.h>

#include "core/log.h"
#include "core/progress.h"
#include "data/loader.h"
#include "device/device.h"
#include "device/plugin.h"
#include "device/precision.h"
#include "nn/weights.h"
#include "train/inputs.h"
#include "train/internal/teacher.h"
#include "train/saved_model.h"
#include "train/stored_scores.h"
#include "train/torch_guard.h"

namespace kedge::train {
namespace {

constexpr std::int64_t kTokensKept = 64;

// scores.bin, written on from a multiple of `batch` samples: a resumed file is computed in the same
// batches.
class ScoresFile {
 public:
  static Result<ScoresFile> open(const Path& folder, const ScoresInfo& info, std::int64_t batch) {
    ScoresFile file;
    file.path_ = scores_file(folder);
    std::error_code error;
    const auto size = std::filesystem::file_size(file.path_, error);
    const std::int64_t whole = error ? 0 : static_cast<std::int64_t>(size) / info.sample_bytes();
    file.first_ = whole >= info.samples ? info.samples : whole / batch * batch;
    file.fd_ = OwnedFd(::open(file.path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    if (file.fd_.get() < 0 || ::ftruncate(file.fd_.get(), file.first_ * info.sample_bytes()) != 0 ||
        ::lseek(file.fd_.get(), 0, SEEK_END) < 0) {
      return std::unexpected(io_error("cannot write", file.path_, errno));
    }
    return file;
  }

  // The first sample that is not there.
  std::int64_t first() const { return first_; }

  // On disk when this returns.
  Result<void> append(const at::Tensor& bytes) {
    const at::Tensor all = bytes.contiguous();
    KEDGE_TRY(write_all(fd_.get(),
                        {reinterpret_cast<const char*>(all.const_data_ptr<std::uint8_t>()),
                         static_cast<std::size_t>(all.numel())},
                        path_));
    if (::fdatasync(fd_.get()) != 0) {
      return std::unexpected(io_error("cannot sync", path_, errno));
    }
    return {};
  }

 private:
  Path path_;
  OwnedFd fd_;
  std::int64_t first_ = 0;
};

// A row of bytes for each sample, as ScoresInfo lays them out.
at::Tensor rows_of(const at::Tensor& scores, const ScoresInfo& info) {
  const at::Tensor logs = softened_scores(scores, info.temperature).to(at::kFloat);
  const auto bytes_of = [&](const at::Tensor& values, at::ScalarType type) {
    const at::Tensor flat = values.reshape({scores.size(0), -1}).to(at::kCPU, type).contiguous();
    return flat.view(at::kByte);
  };
  constexpr double kLowest = -60000;  // of float16
  if (info.keeps_all()) {
    const at::Tensor none = torch::full({logs.size(0), 1}, kLowest, logs.options());
    return bytes_of(torch::cat({logs, none}, 1).clamp_min(kLowest), at::kHalf);
  }
  const auto [kept, ids] = logs.topk(info.kept, -1);
  const at::Tensor rest = torch::log1p(-kept.exp().sum(-1, /*keepdim=*/true).clamp_max(1));
  return torch::cat({bytes_of(torch::cat({kept, rest}, 1).clamp_min(kLowest), at::kHalf),
                     bytes_of(ids, at::kInt)},
                    1);
}

Result<ScoresInfo> describe(const config::Config& config, const Preparation& preparation,
                            const data::TrainVal& data, std::int64_t kept) {
  ScoresInfo info = expected_scores(preparation, data);
  const Path teacher = config.distill.teacher;
  const auto checkpoint = find_checkpoint(teacher);
  info.teacher = teacher.string();
  info.teacher_digest =
      KEDGE_TRY(nn::name_base(checkpoint ? weights_of(*checkpoint) : teacher)).digest;
  info.temperature = config.distill.temperature;
  const bool is_text = preparation.signature.classes == 0;
  info.kept = kept < 0 && is_text ? std::min(kTokensKept, info.classes) : kept;
  info.kept = info.kept <= 0 ? info.classes : info.kept;
  if (info.kept > info.classes) {
    return fail(ErrorKind::Usage, fmt::format("--top-k {} is more than the {} that there are",
                                              info.kept, info.classes));
  }
  return info;
}

// Says in the folder what its scores are, or finds that it holds the same.
Result<void> claim(const Path& folder, const ScoresInfo& info) {
  const auto there = read_scores_info(folder);
  if (there && *there != info) {
    return fail(ErrorKind::Usage,
                fmt::format("{} holds scores of another teacher, other data or other options",
                            folder.string()),
                "name another folder with --output, or remove it");
  }
  if (there || there.error().kind != ErrorKind::NotFound) {
    return there ? Result<void>() : std::unexpected(there.error());
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return std::unexpected(io_error("cannot make folder", folder, error.value()));
  }
  return write_file_atomic(folder / "scores.json", info.to_json());
}

Result<void> check_teacher(const config::Config& config, const data::Dataset& samples,
                           Teacher& teacher) {
  const bool has_documents = data::find_field(samples.info().fields, data::kDocuments) != nullptr;
  if (has_documents && !teacher.model().takes_documents()) {
    return fail(ErrorKind::Usage,
                fmt::format("samples hold several documents, which {} cannot tell apart",
                            config.distill.teacher),
                "set data.pack=false: one document a sample; or choose another distill.teacher");
  }
  return {};
}

Result<void> score_all(data::Loader& loader, InputMaker& make_inputs,
                       const device::Context& context, nn::Model& teacher, const ScoresInfo& info,
                       ScoresFile& file) {
  const torch::NoGradGuard no_grad;
  Progress progress("score", info.samples, "samples", file.first());
  std::int64_t done = file.first();
  while (auto batch = KEDGE_TRY(loader.next())) {
    if (batch->count == 0) {
      break;
    }
    const Inputs inputs = make_inputs(*batch);
    at::Tensor scores;
    {
      const device::Autocast autocast(context);
      scores = teacher.forward(inputs.input());
    }
    KEDGE_TRY(file.append(rows_of(scores, info)));
    done += batch->count;
    if (progress.advance(done, done - file.first())) {
      progress.draw("");
    }
  }
  progress.clear();
  return {};
}

Result<void> score(const config::Config& config, const WriteScoresOptions& options) {
  const Path folder = options.folder.empty() ? Path(config.distill.scores) : options.folder;
  if (folder.empty() || config.distill.teacher.empty()) {
    return fail(
        ErrorKind::Usage,
        folder.empty() ? "no folder for the scores" : "no teacher to score the data",
        "name a teacher with distill.teacher=..., a folder with --output or distill.scores");
  }
  apply_compute_settings(config);
  const auto context =
      std::make_shared<const device::Context>(KEDGE_TRY(device::make_context(config.train)));
  const data::TrainVal data = KEDGE_TRY(data::open_data(config));
  const data::Pipeline pipeline = KEDGE_TRY(data::Pipeline::parse(config.transform.eval));
  const Preparation preparation = KEDGE_TRY(prepare(config, *data.train, pipeline));
  const auto teacher = KEDGE_TRY(Teacher::load(config, preparation, context));
  KEDGE_TRY(check_teacher(config, *data.train, *teacher));
  const ScoresInfo info = KEDGE_TRY(describe(config, preparation, data, options.kept));
  KEDGE_TRY(claim(folder, info));
  const std::int64_t batch = config.loader.batch_size;
  ScoresFile file = KEDGE_TRY(ScoresFile::open(folder, info, batch));
  if (file.first() > 0) {
    say("{} of {} samples are there already", file.first(), info.samples);
  }
  if (file.first() < info.samples) {
    data::Loader loader(*data.train, pipeline,
                        {.batch_size = batch,
                         .workers = loader_workers(config.loader.workers, context->device),
                         .prefetch = config.loader.prefetch,
                         .allocate = batch_allocator(context->device, true)});
    loader.start_epoch(0, file.first() / batch);
    InputMaker make_inputs(preparation, {.device = context->device,
                                         .type = device::input_type(context->precision),
                                         .channels_last = config.train.channels_last});
    KEDGE_TRY(score_all(loader, make_inputs, *context, teacher->model(), info, file));
  }
  fmt::print("{}: {} samples, {} of {} scores each, {:.1f} MB\n", folder.string(), info.samples,
             info.kept, info.classes,
             static_cast<double>(info.samples * info.sample_bytes()) / 1e6);
  return {};
}

}  // namespace

Result<void> write_scores(const config::LoadedConfig& config, const WriteScoresOptions& options) {
  device::open();
  return catch_torch([&] { return score(*config, options); });
}

}  // namespace kedge::train
