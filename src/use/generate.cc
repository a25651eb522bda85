#include "use/generate.h"

#include <cstdio>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/log.h"
#include "core/stopwatch.h"
#include "device/plugin.h"
#include "train/torch_guard.h"
#include "use/internal/answer_texts.h"
#include "use/internal/chat_prompts.h"
#include "use/internal/prompt_file.h"

namespace kedge::use {
namespace {

using data::ChatJson;

Result<void> check_options(const GenerateOptions& options) {
  const auto refuse = [](bool is_wrong, std::string what) -> Result<void> {
    return is_wrong ? Result<void>(fail(ErrorKind::Usage, std::move(what))) : Result<void>();
  };
  KEDGE_TRY(check_settings(options.settings));
  KEDGE_TRY(refuse(options.batch < 1, "--batch must be at least 1"));
  KEDGE_TRY(refuse(!options.output.empty() && options.input.empty(),
                   "--output is for the prompts of a file: give --input too"));
  return refuse(!options.input.empty() && !options.prompt.empty(),
                "give a prompt or --input, not both");
}

// Tokens of prompts, and what to do with them.
class Requests {
 public:
  Requests(const LanguageModel& model, const AnswerSettings& settings)
      : model_(model), settings_(settings) {}

  Result<TextRequest> make(const Prompt& prompt, std::uint64_t number) {
    TextRequest request{.tokens = KEDGE_TRY(tokens_of(prompt)),
                        .sampling = settings_.sampling,
                        .max_tokens = settings_.max_tokens};
    request.sampling.seed += number;
    KEDGE_TRY(check_length(request, model_.decoder->longest()));
    return request;
  }

 private:
  Result<std::vector<std::int64_t>> tokens_of(const Prompt& prompt) {
    if (prompt.messages.is_null()) {
      return encode_text(model_, prompt.text, /*special_tokens=*/true, /*add_around=*/true);
    }
    if (!chat_) {
      chat_ = KEDGE_TRY(ChatPrompts::load(model_));
    }
    return chat_->encode(prompt.messages);
  }

  const LanguageModel& model_;
  const AnswerSettings& settings_;
  std::optional<ChatPrompts> chat_;
};

std::string record_of(const Prompt& prompt, const AnswerText& answer) {
  ChatJson record = {{"id", prompt.id}};
  if (prompt.messages.is_null()) {
    record["prompt"] = prompt.text;
  } else {
    record["messages"] = prompt.messages;
    record["messages"].push_back({{"role", "assistant"}, {"content", answer.text()}});
  }
  record["text"] = answer.text();
  record["tokens"] = answer.tokens();
  return record.dump(-1, ' ', false, ChatJson::error_handler_t::replace) + "\n";
}

// Writes records in the order of their prompts, whichever is ready first.
class OrderedRecords {
 public:
  // Standard output when `path` is empty.
  static Result<OrderedRecords> open(const Path& path) {
    std::FILE* file = path.empty() ? stdout : std::fopen(path.c_str(), "ab");
    if (file == nullptr) {
      return std::unexpected(io_error("cannot write", path, errno));
    }
    return OrderedRecords(path, file);
  }

  Result<void> write(std::size_t number, std::string record) {
    ready_[number] = std::move(record);
    for (auto next = ready_.find(next_); next != ready_.end(); next = ready_.find(next_)) {
      std::fwrite(next->second.data(), 1, next->second.size(), file_.get());
      ready_.erase(next);
      ++next_;
    }
    return std::fflush(file_.get()) == 0 ? Result<void>()
                                         : std::unexpected(io_error("cannot write", path_, errno));
  }

 private:
  OrderedRecords(Path path, std::FILE* file)
      : path_(std::move(path)),
        file_(file, [](std::FILE* it) { return it == stdout ? 0 : std::fclose(it); }) {}

  Path path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::map<std::size_t, std::string> ready_;
  std::size_t next_ = 0;
};

Result<void> answer_file(const LanguageModel& model, const GenerateOptions& options) {
  const std::vector<Prompt> all = KEDGE_TRY(read_prompts(options.input));
  const auto done =
      options.output.empty() ? std::set<std::string>() : KEDGE_TRY(read_answered(options.output));
  Requests requests(model, options.settings);
  std::vector<const Prompt*> left;
  std::vector<TextRequest> asked;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (done.contains(all[i].id)) {
      continue;
    }
    auto request = requests.make(all[i], i);
    if (!request) {
      request.error().message = fmt::format("prompt {} of {}: {}", all[i].id,
                                            options.input.string(), request.error().message);
      return std::unexpected(std::move(request).error());
    }
    left.push_back(&all[i]);
    asked.push_back(std::move(*request));
  }
  if (!done.empty()) {
    say("{} has {} answers; {} prompts are left", options.output.string(), done.size(),
        left.size());
  }
  if (asked.empty()) {
    return {};
  }
  OrderedRecords records = KEDGE_TRY(OrderedRecords::open(options.output));
  return answer_texts(model, asked, options.settings.stops, static_cast<std::size_t>(options.batch),
                      [&](std::size_t i, AnswerText& answer, bool is_whole) {
                        return is_whole ? records.write(i, record_of(*left[i], answer))
                                        : Result<void>();
                      });
}

void say_speed(std::int64_t tokens, double first, double all) {
  say("{} tokens in {:.2f} s: the first after {:.2f} s{}", tokens, all, first,
      tokens > 1 ? fmt::format(", then {:.1f} a second",
                               static_cast<double>(tokens - 1) / std::max(all - first, 1e-9))
                 : "");
}

Result<void> answer_one(const LanguageModel& model, const GenerateOptions& options) {
  Prompt prompt{.id = "1", .text = options.prompt};
  if (prompt.text.empty()) {
    prompt.text.assign(std::istreambuf_iterator<char>(std::cin), {});
  }
  const Stopwatch watch;
  double first = 0;  // seconds to the first token
  const auto request = KEDGE_TRY(Requests(model, options.settings).make(prompt, 0));
  return answer_texts(model, {request}, options.settings.stops, 1,
                      [&](std::size_t, AnswerText& answer, bool is_whole) -> Result<void> {
                        if (options.as_json) {
                          fmt::print("{}", is_whole ? record_of(prompt, answer) : "");
                          return {};
                        }
                        fmt::print("{}{}", answer.take_new(), is_whole ? "\n" : "");
                        std::fflush(stdout);
                        if (first == 0) {
                          first = watch.seconds();
                        }
                        if (is_whole) {
                          say_speed(answer.tokens(), first, watch.seconds());
                        }
                        return {};
                      });
}

}  // namespace

Result<void> run_generate(const GenerateOptions& options) {
  KEDGE_TRY(check_options(options));
  device::open();
  return train::catch_torch([&]() -> Result<void> {
    const LanguageModel model = KEDGE_TRY(open_language_model(options.model));
    return options.input.empty() ? answer_one(model, options) : answer_file(model, options);
  });
}

}  // namespace kedge::use
