#include "use/generate.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/log.h"
#include "core/stopwatch.h"
#include "device/plugin.h"
#include "train/torch_guard.h"
#include "use/internal/text_stream.h"
#include "use/language_model.h"

namespace kedge::use {
namespace {

using nlohmann::json;

// The text that grows out of tokens; it ends before the first stop text.
class AnswerText {
 public:
  AnswerText(const LanguageModel& model, const std::vector<std::string>& stops)
      : stops_(stops), longest_stop_(0) {
    if (model.tokenizer) {
      decoder_.emplace(*model.tokenizer);
    }
    for (const std::string& stop : stops) {
      longest_stop_ = std::max(longest_stop_, stop.size());
    }
  }

  Result<Wish> push(std::int64_t id) {
    ++tokens_;
    text_ += decoder_ ? KEDGE_TRY(decoder_->push(static_cast<data::TokenId>(id)))
                      : std::string(1, static_cast<char>(id));
    return cut_at_stop() ? Wish::Enough : Wish::More;
  }

  void finish() {
    if (decoder_ && !is_stopped_) {
      text_ += decoder_->finish();
      cut_at_stop();
    }
    is_finished_ = true;
  }

  // What has come since the last call and cannot be part of a stop text.
  std::string take_new() {
    const std::size_t held =
        is_finished_ || is_stopped_ || longest_stop_ == 0 ? 0 : longest_stop_ - 1;
    const std::size_t end = text_.size() > held ? text_.size() - held : 0;
    std::string fresh = end > shown_ ? text_.substr(shown_, end - shown_) : "";
    shown_ = std::max(shown_, end);
    return fresh;
  }

  const std::string& text() const { return text_; }

  std::int64_t tokens() const { return tokens_; }

 private:
  bool cut_at_stop() {
    for (const std::string& stop : stops_) {
      if (const std::size_t at = text_.find(stop); at != std::string::npos) {
        text_.resize(at);
        is_stopped_ = true;
      }
    }
    return is_stopped_;
  }

  const std::vector<std::string>& stops_;
  std::size_t longest_stop_;
  std::optional<data::TokenDecoder> decoder_;
  std::string text_;
  std::size_t shown_ = 0;
  std::int64_t tokens_ = 0;
  bool is_stopped_ = false;
  bool is_finished_ = false;
};

struct Prompt {
  std::string id;
  std::string text;
};

Result<std::vector<Prompt>> read_prompts(const Path& path) {
  const std::string text = KEDGE_TRY(read_file(path));
  std::vector<Prompt> prompts;
  std::size_t line = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string row = text.substr(from, end - from);
    from = end + 1;
    ++line;
    if (row.empty()) {
      continue;
    }
    Prompt prompt{.id = std::to_string(line), .text = row};
    if (path.extension() == ".jsonl") {
      const json record = json::parse(row, nullptr, /*allow_exceptions=*/false);
      if (!record.is_object() || !record.value("prompt", json()).is_string()) {
        return fail(ErrorKind::Usage,
                    fmt::format("{}:{}: a record needs \"prompt\", a text", path.string(), line));
      }
      prompt.text = record["prompt"].get<std::string>();
      const json id = record.value("id", json(prompt.id));
      prompt.id = id.is_string() ? id.get<std::string>() : id.dump();
    }
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

// Ids of the records that the output has; a torn last line is cut off.
Result<std::set<std::string>> read_done(const Path& output) {
  std::set<std::string> done;
  if (!std::filesystem::exists(output)) {
    return done;
  }
  const std::string text = KEDGE_TRY(read_file(output));
  const std::size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  for (std::size_t from = 0; from < whole;) {
    const std::size_t end = text.find('\n', from);
    const json record = json::parse(text.substr(from, end - from), nullptr, false);
    if (!record.is_object() || !record.value("id", json()).is_string()) {
      return fail(ErrorKind::Usage,
                  fmt::format("{} holds a line that kedge generate did not write", output.string()),
                  "name another file with --output");
    }
    done.insert(record["id"].get<std::string>());
    from = end + 1;
  }
  std::filesystem::resize_file(output, whole);
  return done;
}

StreamOptions stream_options(const GenerateOptions& options) {
  return {.sampling = {.repetition_penalty = options.repetition_penalty,
                       .temperature = options.temperature,
                       .top_k = options.top_k,
                       .top_p = options.top_p,
                       .min_p = options.min_p},
          .max_tokens = options.max_tokens,
          .seed = static_cast<std::uint64_t>(options.seed)};
}

Result<void> check_options(const GenerateOptions& options) {
  const auto refuse = [](bool is_wrong, std::string what) -> Result<void> {
    return is_wrong ? Result<void>(fail(ErrorKind::Usage, std::move(what))) : Result<void>();
  };
  KEDGE_TRY(refuse(options.max_tokens < 1, "--max-tokens must be at least 1"));
  KEDGE_TRY(refuse(!(options.temperature >= 0), "--temperature must be at least 0"));
  KEDGE_TRY(refuse(options.top_k < 0, "--top-k must be at least 0"));
  KEDGE_TRY(refuse(!(options.top_p > 0 && options.top_p <= 1), "--top-p must be above 0, up to 1"));
  KEDGE_TRY(
      refuse(!(options.min_p >= 0 && options.min_p < 1), "--min-p must be from 0 to below 1"));
  KEDGE_TRY(refuse(!(options.repetition_penalty > 0), "--repetition-penalty must be above 0"));
  KEDGE_TRY(refuse(options.batch < 1, "--batch must be at least 1"));
  KEDGE_TRY(refuse(
      options.temperature == 0 && (options.top_k > 0 || options.top_p < 1 || options.min_p > 0),
      "--top-k, --top-p and --min-p choose among likely tokens, but without "
      "--temperature the likeliest is always taken"));
  KEDGE_TRY(refuse(!options.output.empty() && options.input.empty(),
                   "--output is for the prompts of a file: give --input too"));
  return refuse(!options.input.empty() && !options.prompt.empty(),
                "give a prompt or --input, not both");
}

// Answers to some prompts at once; `show` is told what is new of each.
Result<std::vector<AnswerText>> answer_prompts(
    const LanguageModel& model, const GenerateOptions& options,
    const std::vector<std::string>& prompts,
    const std::function<void(std::size_t, AnswerText&)>& show) {
  std::vector<std::vector<std::int64_t>> texts;
  std::vector<AnswerText> answers;
  for (const std::string& prompt : prompts) {
    texts.push_back(
        KEDGE_TRY(encode_text(model, prompt, /*special_tokens=*/true, /*add_around=*/true)));
    answers.emplace_back(model, options.stops);
  }
  Result<void> outcome;
  KEDGE_TRY(
      continue_texts(model, texts, stream_options(options), [&](std::size_t i, std::int64_t id) {
        const auto wish = answers[i].push(id);
        if (!wish) {
          outcome = std::unexpected(wish.error());
          return Wish::Enough;
        }
        show(i, answers[i]);
        return *wish;
      }));
  KEDGE_TRY(std::move(outcome));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    answers[i].finish();
    show(i, answers[i]);
  }
  return answers;
}

json record_of(const std::string& id, const std::string& prompt, const AnswerText& answer) {
  return {{"id", id}, {"prompt", prompt}, {"text", answer.text()}, {"tokens", answer.tokens()}};
}

std::string dump(const json& record) {
  return record.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<void> answer_file(const LanguageModel& model, const GenerateOptions& options) {
  std::vector<Prompt> prompts = KEDGE_TRY(read_prompts(options.input));
  std::FILE* out = stdout;
  if (!options.output.empty()) {
    const auto done = KEDGE_TRY(read_done(options.output));
    std::erase_if(prompts, [&](const Prompt& prompt) { return done.contains(prompt.id); });
    if (!done.empty()) {
      say("{} has {} answers; {} prompts are left", options.output.string(), done.size(),
          prompts.size());
    }
    out = std::fopen(options.output.c_str(), "ab");
    if (out == nullptr) {
      return std::unexpected(io_error("cannot write", options.output, errno));
    }
  }
  const auto step = static_cast<std::size_t>(options.batch);
  Result<void> outcome;
  for (std::size_t from = 0; from < prompts.size() && outcome; from += step) {
    std::vector<std::string> texts;
    for (std::size_t i = from; i < std::min(from + step, prompts.size()); ++i) {
      texts.push_back(prompts[i].text);
    }
    const auto answers = answer_prompts(model, options, texts, [](std::size_t, AnswerText&) {});
    if (!answers) {
      outcome = std::unexpected(answers.error());
      break;
    }
    for (std::size_t i = 0; i < answers->size(); ++i) {
      const std::string row = dump(record_of(prompts[from + i].id, texts[i], (*answers)[i]));
      std::fwrite(row.data(), 1, row.size(), out);
    }
    if (std::fflush(out) != 0) {
      outcome = std::unexpected(io_error("cannot write", options.output, errno));
    }
  }
  if (out != stdout) {
    std::fclose(out);
  }
  return outcome;
}

Result<void> answer_one(const LanguageModel& model, const GenerateOptions& options) {
  std::string prompt = options.prompt;
  if (prompt.empty()) {
    prompt.assign(std::istreambuf_iterator<char>(std::cin), {});
  }
  const Stopwatch watch;
  const auto answers =
      KEDGE_TRY(answer_prompts(model, options, {prompt}, [&](std::size_t, AnswerText& answer) {
        if (!options.as_json) {
          fmt::print("{}", answer.take_new());
          std::fflush(stdout);
        }
      }));
  if (options.as_json) {
    fmt::print("{}", dump(record_of("1", prompt, answers.front())));
    return {};
  }
  fmt::print("\n");
  const double seconds = watch.seconds();
  say("{} tokens in {:.2f} s, {:.1f} a second", answers.front().tokens(), seconds,
      static_cast<double>(answers.front().tokens()) / seconds);
  return {};
}

}  // namespace

Result<void> run_generate(const GenerateOptions& options) {
  KEDGE_TRY(check_options(options));
  device::open();
  return train::catch_torch([&]() -> Result<void> {
    const LanguageModel model = KEDGE_TRY(open_language_model({.model = options.model,
                                                               .tokenizer = options.tokenizer,
                                                               .adapter = options.adapter,
                                                               .overrides = options.overrides}));
    return options.input.empty() ? answer_one(model, options) : answer_file(model, options);
  });
}

}  // namespace kedge::use
