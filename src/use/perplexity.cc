#include "use/perplexity.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/progress.h"
#include "device/plugin.h"
#include "train/torch_guard.h"
#include "use/internal/likelihood.h"
#include "use/internal/predict_items.h"

namespace kedge::use {
namespace {

constexpr std::int64_t kLongestWindow = 2048;  // unless the user says so
constexpr std::string_view kSpace = " \t\n\v\f\r";

struct Counts {
  std::int64_t documents = 0;
  std::int64_t skipped = 0;  // documents without two tokens
  std::int64_t tokens = 0;   // scored ones
  std::int64_t bytes = 0;    // these and the words are of all that was read
  std::int64_t words = 0;
};

std::int64_t count_words(std::string_view text) {
  std::int64_t words = 0;
  bool was_space = true;
  for (const char c : text) {
    const bool is_space = kSpace.contains(c);
    words += was_space && !is_space ? 1 : 0;
    was_space = is_space;
  }
  return words;
}

// How far a document is cut into windows.
struct Windows {
  std::int64_t context = 0;
  std::int64_t stride = 0;
};

Result<Windows> find_windows(const PerplexityOptions& options, const LanguageModel& model) {
  const std::int64_t longest = model.decoder->longest();
  Windows windows{.context =
                      options.context > 0 ? options.context : std::min(longest, kLongestWindow)};
  windows.stride =
      options.stride > 0 ? options.stride : std::max<std::int64_t>(1, windows.context / 2);
  if (windows.context > longest) {
    return fail(ErrorKind::Usage, fmt::format("--context is {}, but the model takes {} tokens",
                                              windows.context, longest));
  }
  if (windows.stride >= windows.context) {
    return fail(ErrorKind::Usage,
                fmt::format("--stride {} must be less than the {} tokens of a window",
                            windows.stride, windows.context),
                "the first token of each window would be scored after nothing");
  }
  return windows;
}

void add_windows(const std::vector<std::int64_t>& ids, const Windows& windows,
                 std::vector<Passage>& passages) {
  const auto size = std::ssize(ids);
  std::int64_t scored_until = 1;
  for (std::int64_t begin = 0; scored_until < size; begin += windows.stride) {
    const std::int64_t end = std::min(begin + windows.context, size);
    passages.push_back(
        {.ids = {ids.begin() + begin, ids.begin() + end}, .scored = end - scored_until});
    scored_until = end;
  }
}

nlohmann::json report_of(const Counts& counts, const Windows& windows, double log_prob) {
  const auto per = [&](std::int64_t count) { return -log_prob / static_cast<double>(count); };
  return {{"documents", counts.documents},
          {"skipped", counts.skipped},
          {"tokens", counts.tokens},
          {"bytes", counts.bytes},
          {"words", counts.words},
          {"context", windows.context},
          {"stride", windows.stride},
          {"log_likelihood", log_prob},
          {"loss", per(counts.tokens)},
          {"perplexity", std::exp(per(counts.tokens))},
          {"word_perplexity", std::exp(per(std::max<std::int64_t>(1, counts.words)))},
          {"byte_perplexity", std::exp(per(counts.bytes))},
          {"bits_per_byte", per(counts.bytes) / std::numbers::ln2}};
}

void print_report(const nlohmann::json& report) {
  fmt::print(
      "model {}\n{} documents, {} tokens, {} bytes, {} words; windows of {} tokens, {} apart\n",
      report["model"].get<std::string>(), report["documents"].get<std::int64_t>(),
      report["tokens"].get<std::int64_t>(), report["bytes"].get<std::int64_t>(),
      report["words"].get<std::int64_t>(), report["context"].get<std::int64_t>(),
      report["stride"].get<std::int64_t>());
  if (report["skipped"] != 0) {
    fmt::print("skipped {} documents of less than two tokens\n",
               report["skipped"].get<std::int64_t>());
  }
  for (const char* name :
       {"loss", "perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte"}) {
    fmt::print("{:<15} {:.4f}\n", name, report[name].get<double>());
  }
}

Result<void> measure(const PerplexityOptions& options) {
  const auto documents = KEDGE_TRY(list_items(options.text, ItemKind::Text));
  const LanguageModel model = KEDGE_TRY(open_language_model(options.model));
  const Windows windows = KEDGE_TRY(find_windows(options, model));
  Counts counts{.documents = std::ssize(documents)};
  std::vector<Passage> passages;
  for (const PredictItem& document : documents) {
    const auto ids =
        KEDGE_TRY(encode_text(model, document.text, /*special_tokens=*/true, /*add_around=*/true));
    counts.skipped += ids.size() < 2 ? 1 : 0;
    counts.bytes += std::ssize(document.text);
    counts.words += count_words(document.text);
    add_windows(ids, windows, passages);
  }
  if (passages.empty()) {
    return fail(ErrorKind::Usage,
                fmt::format("{} has no document of two tokens", options.text.string()));
  }
  Progress progress("eval", std::ssize(passages), "windows");
  const auto scored = score_passages(model, passages, options.batch, [&](std::int64_t done) {
    if (progress.advance(done, done)) {
      progress.draw("");
    }
  });
  progress.clear();
  double log_prob = 0;
  for (std::size_t i = 0; i < passages.size(); ++i) {
    log_prob += scored[i].log_prob;
    counts.tokens += passages[i].scored;
  }
  nlohmann::json report = report_of(counts, windows, log_prob);
  report["model"] = model.path.string();
  if (options.as_json) {
    fmt::print("{}\n", report.dump(2));
  } else {
    print_report(report);
  }
  return {};
}

}  // namespace

Result<void> run_perplexity(const PerplexityOptions& options) {
  device::open();
  return train::catch_torch([&] { return measure(options); });
}

}  // namespace kedge::use
