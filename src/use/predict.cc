#include "use/predict.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/log.h"
#include "core/progress.h"
#include "core/units.h"
#include "device/device.h"
#include "device/plugin.h"
#include "device/precision.h"
#include "train/saved_model.h"
#include "train/torch_guard.h"
#include "use/internal/predict_items.h"
#include "use/internal/predictor.h"
#include "use/internal/row_file.h"
#include "use/internal/row_origin.h"

namespace kedge::use {
namespace {

// A row of the output: an id, what the predictor says of the item, or why there is nothing.
class Rows {
 public:
  Rows(bool as_json, std::vector<std::string> columns)
      : as_json_(as_json), columns_(std::move(columns)) {}

  std::string header() const {
    return as_json_ ? "" : fmt::format("id,{},error", fmt::join(columns_, ","));
  }

  std::string render(const std::string& id, Answer answer) const {
    return as_json_ ? json(id, std::move(answer)) : csv(id, std::move(answer));
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

  std::string csv(const std::string& id, Answer answer) const {
    std::string row = quoted(id);
    answer.cells.resize(columns_.size());
    for (const std::string& cell : answer.cells) {
      row += "," + quoted(cell);
    }
    return row + "," + quoted(answer.error);
  }

  static std::string json(const std::string& id, Answer answer) {
    nlohmann::json row = std::move(answer.fields);
    row["id"] = id;
    if (!answer.error.empty()) {
      row["error"] = answer.error;
    }
    return row.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  bool as_json_;
  std::vector<std::string> columns_;
};

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
  const auto predictor =
      KEDGE_TRY(Predictors::make("task of `kedge predict`", saved.preparation.task_name,
                                 {.saved = saved, .context = context, .top_k = options.top_k}));
  const auto items = KEDGE_TRY(list_items(options.input, predictor->takes()));
  const Rows rows(options.output.extension() == ".jsonl", predictor->columns());
  RowFile file = KEDGE_TRY(options.output.empty() ? RowFile::open_stdout(rows.header())
                                                  : RowFile::open(options.output, rows.header()));
  const std::size_t done = KEDGE_TRY(count_done(file, rows, items, options.output));
  KEDGE_TRY(claim_rows(options.output, {.checkpoint = saved.path, .top_k = options.top_k},
                       /*has_rows=*/done > 0));
  if (done > 0) {
    say("{} of {} rows are there already", done, items.size());
  }
  Progress progress("predict", static_cast<std::int64_t>(items.size() - done), "items");
  std::int64_t errors = 0;
  const auto batch_size = static_cast<std::size_t>(options.batch_size);
  for (std::size_t start = done; start < items.size(); start += batch_size) {
    const auto batch = std::span(items).subspan(start, std::min(batch_size, items.size() - start));
    std::vector<Answer> answers = predictor->answer(batch);
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      errors += answers[i].error.empty() ? 0 : 1;
      lines.push_back(rows.render(batch[i].id, std::move(answers[i])));
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
  if (errors > 0 && errors == static_cast<std::int64_t>(items.size())) {
    return fail(ErrorKind::Corrupt, "none of the input could be read");
  }
  return {};
}

}  // namespace

Result<void> run_predict(const PredictOptions& options) {
  device::open();
  return train::catch_torch([&] { return predict(options); });
}

}  // namespace kedge::use
