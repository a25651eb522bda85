#include <charconv>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/data.h"
#include "cli/shared/arguments.h"
#include "core/log.h"
#include "core/progress.h"
#include "core/units.h"
#include "data/tokenize.h"

namespace kedge::cli {
namespace {

using data::TokenizeOptions;
using data::TokenizeReport;

Result<double> read_fraction(const std::string& text) {
  double fraction = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, fraction);
  if (parsed.ec != std::errc() || parsed.ptr != end || !(fraction >= 0 && fraction < 1)) {
    return fail(ErrorKind::Usage, fmt::format("--val is '{}'", text),
                "a fraction of the documents, such as 0.01");
  }
  return fraction;
}

// The id that ends documents: the one that is named, or the tokenizer's own.
Result<std::optional<data::TokenId>> find_end(const data::Tokenizer& tokenizer,
                                              const std::string& name) {
  if (name == "none") {
    return std::nullopt;
  }
  const auto id = name.empty() ? tokenizer.find_end_of_text() : tokenizer.find(name);
  if (!id) {
    return fail(ErrorKind::Usage,
                name.empty() ? "the tokenizer has no end-of-text token of a usual name"
                             : fmt::format("the tokenizer has no token '{}'", name),
                "name one with --end TOKEN, or say --end none");
  }
  return id;
}

void print_report(const TokenizeReport& report, const TokenizeOptions& options, bool is_json) {
  if (is_json) {
    const nlohmann::json json = {
        {"out", options.out.string()},     {"bytes", report.bytes},
        {"resumed_at", report.first_byte}, {"train_tokens", report.train_tokens},
        {"val_tokens", report.val_tokens}, {"documents", report.documents},
        {"empty", report.empty},           {"rejected", report.rejected},
        {"replaced", report.replaced}};
    fmt::print("{}\n", json.dump());
    return;
  }
  say("{}: {} tokens to train on, {} held out, of {} documents", options.out.string(),
      report.train_tokens, report.val_tokens, report.documents);
  if (report.rejected > 0) {
    warn("{} records could not be read: {} says which and why", report.rejected,
         (options.out / "rejected.jsonl").string());
  }
  if (report.empty > 0) {
    warn("{} documents without text were left out", report.empty);
  }
  if (report.replaced > 0) {
    warn("{} times U+FFFD stands for bytes that are no UTF-8", report.replaced);
  }
}

}  // namespace

Result<void> tokenize_data(Args args) {
  const VerbHelp help = {
      .usage = "kedge data tokenize TEXT ... --tokenizer FILE --out DIR",
      .text =
          "Text to token files, which `data: {name: tokens, path: DIR}` trains on. TEXT is a "
          ".jsonl file with a document in each line, another file, which is one document, or a "
          "folder of both.",
      .flags = {{"--tokenizer", "FILE", "tokenizer.json, its folder, or a .tiktoken file"},
                {"--out", "DIR", "where train.bin, val.bin and meta.json go"},
                {"--field", "NAME", "what is tokenized of a .jsonl record (text)"},
                {"--end", "TOKEN", "put after each document (the tokenizer's end of text); none"},
                {"--val", "FRACTION", "documents for val.bin (0)"},
                {"--threads", "N", "how many (one a processor)"},
                kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  for (const char* flag : {"--tokenizer", "--out"}) {
    if (!arguments->has(flag)) {
      return fail(ErrorKind::Usage, fmt::format("data tokenize needs {}", flag),
                  "kedge data tokenize --help");
    }
  }
  const auto threads =
      KEDGE_TRY(arguments->number("--threads", std::thread::hardware_concurrency()));
  if (threads < 1 || threads > 1024) {
    return fail(ErrorKind::Usage, fmt::format("--threads is {}", threads), "1 to 1024");
  }
  const auto tokenizer = KEDGE_TRY(data::Tokenizer::load(arguments->value("--tokenizer")));
  TokenizeOptions options{.inputs = {},
                          .out = arguments->value("--out"),
                          .field = arguments->value("--field", "text"),
                          .end = KEDGE_TRY(find_end(tokenizer, arguments->value("--end"))),
                          .val = KEDGE_TRY(read_fraction(arguments->value("--val", "0"))),
                          .threads = static_cast<unsigned>(threads)};
  for (const std::string& text : arguments->positionals()) {
    for (Path& path : KEDGE_TRY(data::list_texts(text))) {
      options.inputs.push_back(std::move(path));
    }
  }
  std::optional<Progress> bar;
  const auto report = KEDGE_TRY(
      data::tokenize(tokenizer, options, [&bar](const TokenizeReport& done, std::uint64_t total) {
        if (!bar) {
          bar.emplace("tokenize", static_cast<std::int64_t>(total), "B",
                      static_cast<std::int64_t>(done.first_byte));
        }
        const auto bytes = static_cast<std::int64_t>(done.bytes);
        if (bar->advance(bytes, bytes - static_cast<std::int64_t>(done.first_byte))) {
          bar->draw(fmt::format("{} tokens", done.train_tokens + done.val_tokens));
        }
      }));
  bar.reset();
  if (report.first_byte > 0) {
    say("resumed at byte {} of {}", report.first_byte, report.bytes);
  }
  print_report(report, options, arguments->has("--json"));
  return {};
}

}  // namespace kedge::cli
