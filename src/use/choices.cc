#include "use/choices.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "core/log.h"
#include "core/progress.h"
#include "device/plugin.h"
#include "nn/weights.h"
#include "train/saved_model.h"
#include "train/torch_guard.h"
#include "use/internal/choice_items.h"
#include "use/internal/row_file.h"

namespace kedge::use {
namespace {

using nlohmann::json;

// Items are computed so many at once and always from a multiple of it on, so that an output that is
// resumed holds what an uninterrupted one would.
constexpr std::size_t kItemsAtOnce = 128;

// What an item's choices got.
struct Scores {
  std::vector<double> log_probs;
  std::vector<bool> is_greedy;
};

std::int64_t count_characters(std::string_view text) {
  return std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

// The first of the likeliest, each choice's sum divided by its length.
template <typename LengthOf>
std::int64_t likeliest(const ChoiceItem& item, const Scores& scores, const LengthOf& length_of) {
  std::size_t best = 0;
  const auto value = [&](std::size_t i) {
    return scores.log_probs[i] / static_cast<double>(length_of(item.choices[i]));
  };
  for (std::size_t i = 1; i < item.choices.size(); ++i) {
    best = value(i) > value(best) ? i : best;
  }
  return static_cast<std::int64_t>(best);
}

bool is_right(const ChoiceItem& item, const Scores& scores) {
  return likeliest(item, scores, [](const std::string&) { return 1; }) == item.answer;
}

bool is_right_by_characters(const ChoiceItem& item, const Scores& scores) {
  return likeliest(item, scores, count_characters) == item.answer;
}

bool is_right_by_bytes(const ChoiceItem& item, const Scores& scores) {
  return likeliest(item, scores, [](const std::string& choice) { return choice.size(); }) ==
         item.answer;
}

json row_of(const ChoiceItem& item, const Scores& scores, ItemsKind kind) {
  json row = {{"id", item.id}, {"log_probs", scores.log_probs}, {"is_greedy", scores.is_greedy}};
  if (kind == ItemsKind::Choices) {
    row["answer"] = item.answer;
    row["acc"] = is_right(item, scores) ? 1 : 0;
    row["acc_norm"] = is_right_by_characters(item, scores) ? 1 : 0;
    row["acc_bytes"] = is_right_by_bytes(item, scores) ? 1 : 0;
  }
  return row;
}

// Nothing where the row is not that of the item.
std::optional<Scores> read_row(const std::string& text, const ChoiceItem& item) {
  const json row = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto is_list = [&](const char* name) {
    return row.contains(name) && row[name].is_array() && row[name].size() == item.choices.size();
  };
  if (!row.is_object() || row.value("id", json()) != item.id || !is_list("log_probs") ||
      !is_list("is_greedy")) {
    return std::nullopt;
  }
  return Scores{.log_probs = row["log_probs"].get<std::vector<double>>(),
                .is_greedy = row["is_greedy"].get<std::vector<bool>>()};
}

// The output's first line: what its rows are of.
Result<std::string> describe(const ChoiceOptions& options, const LanguageModel& model) {
  Digest records;
  records.add(KEDGE_TRY(read_file(options.choices)));
  const bool is_checkpoint = std::filesystem::exists(model.path / "manifest.json");
  const auto base =
      KEDGE_TRY(nn::name_base(is_checkpoint ? train::weights_of(model.path) : model.path));
  json header = {
      {"weights", base.digest}, {"records", records.text()}, {"delimiter", options.delimiter}};
  if (!options.model.adapter.empty()) {
    header["adapter"] =
        KEDGE_TRY(nn::name_base(options.model.adapter / "adapter_model.safetensors")).digest;
  }
  return header.dump();
}

Result<std::vector<Scores>> read_done(const RowFile& file, const std::vector<ChoiceItem>& items,
                                      const Path& output) {
  std::vector<Scores> done;
  for (const std::string& row : file.existing()) {
    auto scores = done.size() < items.size() ? read_row(row, items[done.size()]) : std::nullopt;
    if (!scores) {
      return fail(ErrorKind::Usage,
                  fmt::format("{}: row {} is not that of the records' item {}", output.string(),
                              done.size() + 2, done.size() + 1),
                  "choose another output, or remove it");
    }
    done.push_back(std::move(*scores));
  }
  return done;
}

// Of each item its choices' passages: all of them, so that nothing is written where one is wrong.
using Passages = std::vector<std::vector<Passage>>;

Result<Passages> find_passages(const LanguageModel& model, const ChoiceOptions& options,
                               const ChoiceFile& file) {
  Passages passages;
  const std::string delimiter = file.kind == ItemsKind::Choices ? options.delimiter : "";
  for (const ChoiceItem& item : file.items) {
    passages.push_back(KEDGE_TRY(passages_of(model, item, delimiter)));
  }
  return passages;
}

// Of some of the items.
std::vector<Scores> score_some(const LanguageModel& model, std::int64_t batch,
                               std::span<const std::vector<Passage>> items) {
  std::vector<Passage> passages;
  for (const std::vector<Passage>& item : items) {
    passages.insert(passages.end(), item.begin(), item.end());
  }
  const auto likelihoods = score_passages(model, passages, batch);
  std::vector<Scores> scores;
  auto next = likelihoods.begin();
  for (const std::vector<Passage>& item : items) {
    Scores& own = scores.emplace_back();
    for (std::size_t choice = 0; choice < item.size(); ++choice, ++next) {
      own.log_probs.push_back(next->log_prob);
      own.is_greedy.push_back(next->is_greedy);
    }
  }
  return scores;
}

// A share of right answers, and its standard error as the harness has it.
void add_share(json& report, const std::string& name, std::int64_t right, std::int64_t items) {
  const double share = static_cast<double>(right) / static_cast<double>(items);
  report[name] = share;
  report[name + "_stderr"] =
      items > 1 ? json(std::sqrt(share * (1 - share) / static_cast<double>(items - 1))) : json();
}

json report_of(const ChoiceFile& file, const std::vector<Scores>& scores) {
  const auto count = std::ssize(file.items);
  json report = {{"items", count}};
  const auto add = [&](const char* name, const auto& is_one) {
    std::int64_t right = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      right += is_one(file.items[i], scores[i]) ? 1 : 0;
    }
    add_share(report, name, right, count);
  };
  if (file.kind == ItemsKind::Choices) {
    add("acc", is_right);
    add("acc_norm", is_right_by_characters);
    add("acc_bytes", is_right_by_bytes);
    return report;
  }
  add("acc", [](const ChoiceItem&, const Scores& own) { return own.is_greedy.front(); });
  double sum = 0;
  for (const Scores& own : scores) {
    sum += own.log_probs.front();
  }
  report["log_likelihood"] = sum;
  report["perplexity"] = std::exp(-sum / static_cast<double>(count));
  return report;
}

void print_report(const json& report) {
  fmt::print("model {}\n{} items\n", report["model"].get<std::string>(),
             report["items"].get<std::int64_t>());
  for (const char* name : {"acc", "acc_norm", "acc_bytes"}) {
    if (const json error = report.value(std::string(name) + "_stderr", json()); error.is_number()) {
      fmt::print("{:<10} {:.4f} +- {:.4f}\n", name, report[name].get<double>(),
                 error.get<double>());
    } else if (report.contains(name)) {
      fmt::print("{:<10} {:.4f}\n", name, report[name].get<double>());
    }
  }
  if (report.contains("perplexity")) {
    fmt::print("{:<10} {:.4f}\n", "perplexity", report["perplexity"].get<double>());
  }
}

// All items' scores; those that the output lacks are computed and appended.
Result<std::vector<Scores>> score_all(const LanguageModel& model, const ChoiceOptions& options,
                                      const ChoiceFile& file) {
  const Passages passages = KEDGE_TRY(find_passages(model, options, file));
  std::optional<RowFile> output;
  std::vector<Scores> scores;
  if (!options.output.empty()) {
    output = KEDGE_TRY(RowFile::open(options.output, KEDGE_TRY(describe(options, model))));
    scores = KEDGE_TRY(read_done(*output, file.items, options.output));
    if (!scores.empty()) {
      say("{} of {} items are there already", scores.size(), file.items.size());
    }
  }
  const auto done_before = std::ssize(scores);
  Progress progress("eval", std::ssize(file.items), "items", done_before);
  while (scores.size() < file.items.size()) {
    const std::size_t first = scores.size() / kItemsAtOnce * kItemsAtOnce;
    auto more = score_some(
        model, options.batch,
        std::span(passages).subspan(first, std::min(kItemsAtOnce, passages.size() - first)));
    std::vector<std::string> rows;
    for (std::size_t i = scores.size() - first; i < more.size(); ++i) {
      rows.push_back(row_of(file.items[first + i], more[i], file.kind).dump());
      scores.push_back(std::move(more[i]));
    }
    if (output) {
      KEDGE_TRY(output->append(rows));
    }
    if (progress.advance(std::ssize(scores), std::ssize(scores) - done_before)) {
      progress.draw("");
    }
  }
  progress.clear();
  return scores;
}

Result<void> measure(const ChoiceOptions& options) {
  const ChoiceFile file = KEDGE_TRY(read_choices(options.choices));
  const LanguageModel model = KEDGE_TRY(open_language_model(options.model));
  json report = report_of(file, KEDGE_TRY(score_all(model, options, file)));
  report["model"] = model.path.string();
  if (options.as_json) {
    fmt::print("{}\n", report.dump(2));
  } else {
    print_report(report);
  }
  return {};
}

}  // namespace

Result<void> run_choices(const ChoiceOptions& options) {
  device::open();
  return train::catch_torch([&] { return measure(options); });
}

}  // namespace kedge::use
