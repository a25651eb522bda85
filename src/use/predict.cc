#include "use/predict.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>
#include <torch/utils.h>

#include "core/log.h"
#include "core/progress.h"
#include "core/units.h"
#include "data/decode.h"
#include "device/device.h"
#include "device/plugin.h"
#include "device/precision.h"
#include "train/saved_model.h"
#include "train/torch_guard.h"
#include "use/internal/predict_items.h"
#include "use/internal/row_file.h"
#include "use/internal/row_origin.h"

namespace kedge::use {
namespace {

struct Scored {
  std::string name;
  double score = 0;
};

// One item's answer: classes with scores, or a language model's loss, or why there is none.
struct Answer {
  std::vector<Scored> top;
  double loss = 0;
  std::string error;
};

class Rows {
 public:
  Rows(bool as_json, bool is_language, std::int64_t top_k)
      : as_json_(as_json), is_language_(is_language), top_k_(top_k) {}

  std::string header() const {
    if (as_json_) {
      return "";
    }
    std::string text = "id";
    if (is_language_) {
      text += ",loss,perplexity";
    }
    for (std::int64_t i = 1; !is_language_ && i <= top_k_; ++i) {
      text += fmt::format(",class{},score{}", i, i);
    }
    return text + ",error";
  }

  std::string render(const std::string& id, const Answer& answer) const {
    return as_json_ ? json(id, answer) : csv(id, answer);
  }

  // The id at the start of a row that was written before.
  std::string id_of(const std::string& row) const {
    if (as_json_) {
      const auto parsed = nlohmann::json::parse(row, nullptr, false);
      return parsed.is_object() ? parsed.value("id", "") : "";
    }
    if (!row.starts_with('"')) {
      return row.substr(0, row.find(','));
    }
    std::string id;
    for (std::size_t i = 1; i < row.size(); ++i) {
      if (row[i] == '"') {
        if (i + 1 >= row.size() || row[i + 1] != '"') {
          break;
        }
        ++i;
      }
      id += row[i];
    }
    return id;
  }

 private:
  static std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\n\r") == std::string::npos) {
      return text;
    }
    std::string result = "\"";
    for (const char c : text) {
      result += c == '\n' || c == '\r' ? ' ' : c;
      if (c == '"') {
        result += c;
      }
    }
    return result + "\"";
  }

  std::string csv(const std::string& id, const Answer& answer) const {
    std::string row = quoted(id);
    if (is_language_) {
      row += answer.error.empty()
                 ? fmt::format(",{:.6g},{:.6g}", answer.loss, std::exp(answer.loss))
                 : ",,";
    }
    for (std::size_t i = 0; !is_language_ && i < static_cast<std::size_t>(top_k_); ++i) {
      row += i < answer.top.size()
                 ? fmt::format(",{},{:.6f}", quoted(answer.top[i].name), answer.top[i].score)
                 : ",,";
    }
    return row + "," + quoted(answer.error);
  }

  std::string json(const std::string& id, const Answer& answer) const {
    nlohmann::json row = {{"id", id}};
    if (!answer.error.empty()) {
      row["error"] = answer.error;
    } else if (is_language_) {
      row["loss"] = answer.loss;
      row["perplexity"] = std::exp(answer.loss);
    } else {
      row["predictions"] = nlohmann::json::array();
      for (const Scored& scored : answer.top) {
        row["predictions"].push_back({{"class", scored.name}, {"score", scored.score}});
      }
    }
    return row.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  bool as_json_;
  bool is_language_;
  std::int64_t top_k_;
};

class Predictor {
 public:
  Predictor(train::SavedModel& saved, device::Context context, data::Pipeline pipeline,
            std::int64_t top_k)
      : saved_(saved),
        context_(std::move(context)),
        pipeline_(std::move(pipeline)),
        make_inputs_(saved.preparation.normalise, {.device = context_.device}),
        top_k_(top_k) {}

  std::vector<Answer> answer(std::span<const PredictItem> items) {
    const torch::NoGradGuard no_grad;
    return saved_.preparation.task.is_language() ? answer_texts(items) : answer_images(items);
  }

 private:
  // Images that cannot be read get an error row.
  std::vector<Answer> answer_images(std::span<const PredictItem> items) {
    const nn::Task& task = saved_.preparation.task;
    const data::FieldInfo field = data::image_fields({task.height, task.width, task.channels})[0];
    const std::size_t image_bytes = field.bytes_per_sample();
    const data::Buffer pixels = data::allocate_plain(items.size() * image_bytes);
    std::vector<Answer> answers(items.size());
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < items.size(); ++i) {
      auto image = prepare_image(items[i]);
      if (!image) {
        answers[i].error = image.error().message;
        continue;
      }
      std::memcpy(pixels.get() + places.size() * image_bytes, image->pixels.data(), image_bytes);
      places.push_back(i);
    }
    if (places.empty()) {
      return answers;
    }
    const data::Batch batch{.count = std::ssize(places), .fields = {{field, pixels}}};
    const auto [score, index] = top_scores(make_inputs_(batch).x);
    for (std::size_t row = 0; row < places.size(); ++row) {
      for (std::int64_t k = 0; k < score.size(1); ++k) {
        const auto at = static_cast<std::int64_t>(row);
        answers[places[row]].top.push_back(
            {class_name(index[at][k].item<std::int64_t>()), score[at][k].item<double>()});
      }
    }
    return answers;
  }

  Result<data::Image> prepare_image(const PredictItem& item) const {
    data::Image image = KEDGE_TRY(data::read_image(item.image));
    data::Visit visit{.random = Random(0)};
    pipeline_.apply(image, visit);
    const nn::Task& task = saved_.preparation.task;
    if (image.channels != task.channels) {
      return fail(ErrorKind::Usage,
                  fmt::format("{} has {} channels, the model takes {}", item.image.string(),
                              image.channels, task.channels));
    }
    return image;
  }

  std::pair<at::Tensor, at::Tensor> top_scores(const at::Tensor& x) {
    const device::Autocast autocast(context_);
    const at::Tensor shares = saved_.model->forward(x).to(at::kFloat).softmax(1);
    const auto [score, index] = shares.topk(std::min(top_k_, shares.size(1)), 1);
    return {score.cpu(), index.cpu()};
  }

  std::vector<Answer> answer_texts(std::span<const PredictItem> items) {
    std::vector<Answer> answers;
    for (const PredictItem& item : items) {
      answers.push_back(answer_text(item.text));
    }
    return answers;
  }

  // The mean loss per byte, over windows of the model's context.
  Answer answer_text(const std::string& text) {
    const auto size = static_cast<std::int64_t>(text.size());
    if (size < 2) {
      return {.top = {}, .loss = 0, .error = "a text needs at least two bytes"};
    }
    std::vector<std::int64_t> ids;
    for (const char c : text) {
      ids.push_back(static_cast<unsigned char>(c));
    }
    const at::Tensor all = torch::tensor(ids).to(context_.device);
    const std::int64_t context = saved_.preparation.task.context;
    double sum = 0;
    for (std::int64_t start = 0; start + 1 < size; start += context) {
      const std::int64_t end = std::min(start + context, size - 1);
      const device::Autocast autocast(context_);
      const at::Tensor scores = saved_.model->forward(all.slice(0, start, end).unsqueeze(0));
      sum += at::cross_entropy_loss(scores.squeeze(0).to(at::kFloat),
                                    all.slice(0, start + 1, end + 1), {}, at::Reduction::Sum)
                 .item<double>();
    }
    return {.top = {}, .loss = sum / static_cast<double>(size - 1), .error = {}};
  }

  std::string class_name(std::int64_t index) const {
    const auto at = static_cast<std::size_t>(index);
    const auto& names = saved_.preparation.class_names;
    return at < names.size() ? names[at] : std::to_string(index);
  }

  train::SavedModel& saved_;
  device::Context context_;
  data::Pipeline pipeline_;
  train::InputMaker make_inputs_;
  std::int64_t top_k_;
};

// The steps of training's validation, between what files may differ in: colour and size.
Result<data::Pipeline> make_pipeline(const train::Preparation& preparation) {
  if (preparation.task.is_language()) {
    return data::Pipeline::parse({});
  }
  std::vector<std::string> steps;
  if (preparation.task.channels == 1) {
    steps.emplace_back("grey");
  }
  steps.insert(steps.end(), preparation.eval_steps.begin(), preparation.eval_steps.end());
  steps.push_back(fmt::format("resize {} {}", preparation.task.height, preparation.task.width));
  return data::Pipeline::parse(steps);
}

// Rows that a run before this one wrote must be the beginning of this input.
Result<std::size_t> count_done(const RowFile& file, const Rows& rows,
                               const std::vector<PredictItem>& items, const Path& output) {
  const auto& existing = file.existing();
  for (std::size_t i = 0; i < existing.size(); ++i) {
    if (i >= items.size() || rows.id_of(existing[i]) != items[i].id) {
      return fail(
          ErrorKind::Usage,
          fmt::format("{} holds predictions of another input (row {})", output.string(), i + 1),
          "choose another output, or remove it");
    }
  }
  return existing.size();
}

Result<void> check_options(const PredictOptions& options) {
  const std::string ending = options.output.extension().string();
  if (!options.output.empty() && ending != ".csv" && ending != ".jsonl") {
    return fail(ErrorKind::Usage,
                fmt::format("cannot tell the format of '{}'", options.output.string()),
                "end it in .csv or .jsonl");
  }
  if (options.top_k < 1) {
    return fail(ErrorKind::Usage,
                fmt::format("--top-k is {}, but must be at least 1", options.top_k));
  }
  if (options.batch_size < 1) {
    return fail(ErrorKind::Usage,
                fmt::format("--batch is {}, but must be at least 1", options.batch_size));
  }
  return {};
}

Result<void> predict(const PredictOptions& options) {
  KEDGE_TRY(check_options(options));
  train::SavedModel saved = KEDGE_TRY(train::load_saved_model(options.model, options.overrides));
  train::apply_compute_settings(*saved.config);
  const device::Context context = KEDGE_TRY(device::make_context(saved.config->train));
  saved.model->to(context.device);
  const bool is_language = saved.preparation.task.is_language();
  const auto items = KEDGE_TRY(list_items(options.input, is_language));
  const Rows rows(options.output.extension() == ".jsonl", is_language, options.top_k);
  RowFile file = KEDGE_TRY(options.output.empty() ? RowFile::open_stdout(rows.header())
                                                  : RowFile::open(options.output, rows.header()));
  const std::size_t done = KEDGE_TRY(count_done(file, rows, items, options.output));
  KEDGE_TRY(claim_rows(options.output, {.checkpoint = saved.path, .top_k = options.top_k},
                       /*has_rows=*/done > 0));
  if (done > 0) {
    say("{} of {} rows are there already", done, items.size());
  }
  Predictor predictor(saved, context, KEDGE_TRY(make_pipeline(saved.preparation)), options.top_k);
  Progress progress("predict", static_cast<std::int64_t>(items.size() - done), "items");
  std::int64_t errors = 0;
  const auto batch_size = static_cast<std::size_t>(options.batch_size);
  for (std::size_t start = done; start < items.size(); start += batch_size) {
    const auto batch = std::span(items).subspan(start, std::min(batch_size, items.size() - start));
    const std::vector<Answer> answers = predictor.answer(batch);
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      errors += answers[i].error.empty() ? 0 : 1;
      lines.push_back(rows.render(batch[i].id, answers[i]));
    }
    KEDGE_TRY(file.append(lines));
    const auto count = static_cast<std::int64_t>(start - done + batch.size());
    if (progress.advance(count, count)) {
      progress.draw("");
    }
  }
  progress.clear();
  if (errors > 0) {
    warn("{} items could not be read: see the error column", errors);
  }
  return {};
}

}  // namespace

Result<void> run_predict(const PredictOptions& options) {
  device::open();
  return train::catch_torch([&] { return predict(options); });
}

}  // namespace kedge::use
