#include "train/internal/reporter.h"

#include <algorithm>
#include <cerrno>
#include <ctime>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/log.h"
#include "core/terminal.h"
#include "core/units.h"

namespace kedge::train {
namespace {

// With many classes a column each would bury the rest.
constexpr std::size_t kMostScoreColumns = 20;

constexpr std::string_view kBestMark = "  (best)";

std::string class_name(const Preparation& preparation, std::int64_t label) {
  const auto index = static_cast<std::size_t>(label);
  return index < preparation.class_names.size() ? preparation.class_names[index]
                                                : std::to_string(label);
}

std::string render_metric(const std::string& name, double value) {
  const bool is_fraction = name.ends_with("accuracy") || name.ends_with("top5");
  return is_fraction ? fmt::format("  {} {:.2f}%", name, value * 100)
                     : fmt::format("  {} {:.4f}", name, value);
}

std::string render_metrics(const Metrics& metrics) {
  std::string text;
  for (const auto& [name, value] : metrics) {
    text += render_metric(name, value);
  }
  return text;
}

// An epoch's line in pieces: a narrow terminal goes without the rate first, without the training's
// own metrics last.
std::vector<LinePiece> render_epoch(const EpochFacts& facts, const Metrics& metrics) {
  std::vector<LinePiece> pieces = {{fmt::format("epoch {}/{}", facts.epoch, facts.epochs)}};
  for (const auto& [name, value] : metrics) {
    const int rank = name.ends_with("top5")        ? 6
                     : !name.starts_with("train/") ? 1
                     : name == "train/loss"        ? 2
                                                   : 3;
    pieces.push_back({render_metric(name, value), rank});
  }
  pieces.push_back({fmt::format("  lr {:.3g}", facts.lr), 5});
  pieces.push_back({fmt::format("  {}", render_seconds({facts.seconds})), 4});
  pieces.push_back({fmt::format("  {} samples/s", render_count(facts.samples_per_s)), 7});
  if (facts.is_best) {
    pieces.push_back({std::string(kBestMark)});
  }
  return pieces;
}

}  // namespace

Result<std::unique_ptr<Reporter>> Reporter::make(track::Run& run, const std::string& log_file) {
  std::unique_ptr<Reporter> reporter(new Reporter(run));
  if (!log_file.empty() && !run.is_silent()) {
    reporter->log_path_ = log_file;
    reporter->log_file_ =
        OwnedFd(::open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (reporter->log_file_.get() < 0) {
      return std::unexpected(io_error("track.log_file: cannot write", log_file, errno));
    }
  }
  return reporter;
}

void Reporter::say(std::string_view line, std::string_view shown) {
  if (run_.is_silent()) {
    return;
  }
  if (bar_) {
    bar_->clear();
  }
  print_line(shown);
  run_.console(line);
}

void Reporter::validation(std::int64_t step, const Metrics& metrics, bool is_best) {
  say(fmt::format("step {}{}{}", step, render_metrics(metrics), is_best ? "  (best)" : ""));
}

void Reporter::epoch(const EpochFacts& facts, const Metrics& metrics) {
  const std::vector<LinePiece> pieces = render_epoch(facts, metrics);
  const std::string line = fit_line(pieces, Terminal().columns);
  const Terminal terminal = look_at_terminal(STDERR_FILENO);
  std::string shown = fit_line(pieces, terminal.columns);
  if (facts.is_best && shown.ends_with(kBestMark)) {
    shown.resize(shown.size() - kBestMark.size());
    shown += coloured(kBestMark, Colour::Green, terminal.has_colour);
  }
  say(line, shown);
  if (log_file_.get() >= 0) {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    ::localtime_r(&now, &local);
    const std::string stamp = fmt::format("{:%Y-%m-%d %H:%M:%S}", local);
    if (auto written = write_all(log_file_.get(), stamp + " - " + line + "\n", log_path_);
        !written) {
      warn("{}; no more lines go there", written.error().message);
      log_file_ = OwnedFd();
    }
  }
}

void Reporter::evaluation(std::int64_t step, const Evaluation& evaluation,
                          const Preparation& preparation, const data::Dataset& dataset) {
  if (!evaluation.confusion.empty()) {
    run_.log_confusion("val/confusion", step, preparation.class_names, evaluation.confusion);
  }
  if (evaluation.predictions.empty()) {
    return;
  }
  std::vector<std::string> columns = {"sample", "image", "prediction", "label", "score"};
  const bool with_scores = preparation.class_names.size() <= kMostScoreColumns;
  if (with_scores) {
    for (const std::string& name : preparation.class_names) {
      columns.push_back("score_" + name);
    }
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const Prediction& prediction : evaluation.predictions) {
    const auto best = std::ranges::max_element(prediction.scores);
    const std::string sample = dataset.name(prediction.index);
    const auto image =
        run_.save_image(fmt::format("val-{}-{}", step, sample), prediction.image.pixels,
                        prediction.image.height, prediction.image.width, prediction.image.channels);
    nlohmann::json row = {sample,
                          image ? nlohmann::json{{"image", *image}} : nlohmann::json(nullptr),
                          class_name(preparation, best - prediction.scores.begin()),
                          class_name(preparation, prediction.label), *best};
    for (std::size_t i = 0; with_scores && i < preparation.class_names.size(); ++i) {
      row.push_back(prediction.scores[i]);
    }
    rows.push_back(std::move(row));
  }
  run_.log_table("val/predictions", step, columns, rows);
}

void Reporter::start_bar(std::string title, std::int64_t total, std::string item_name,
                         std::int64_t first, std::int64_t more) {
  if (run_.is_silent()) {
    return;
  }
  bar_ = std::make_unique<Progress>(std::move(title), total, std::move(item_name), first);
  bar_->expect_more(more, since_bar_ ? since_bar_->seconds() : 0);
}

void Reporter::end_bar() {
  bar_.reset();
  since_bar_.emplace();
}

void Reporter::advance(std::int64_t done, std::int64_t items, std::optional<double> loss) {
  if (bar_ && bar_->advance(done, items)) {
    bar_->draw(loss ? fmt::format("loss {:.4f}", *loss) : "");
  }
}

}  // namespace kedge::train
