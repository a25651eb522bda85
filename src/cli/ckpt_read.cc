// kedge ckpt ls, show, verify, diff: they change nothing.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "checkpoint/diff.h"
#include "checkpoint/library.h"
#include "checkpoint/storage.h"
#include "checkpoint/tensor_file.h"
#include "cli/ckpt.h"
#include "cli/shared/arguments.h"
#include "cli/shared/json_output.h"
#include "cli/shared/text_table.h"
#include "cli/verbs.h"
#include "core/file.h"
#include "core/log.h"
#include "core/result.h"
#include "core/stopwatch.h"
#include "core/units.h"

namespace kedge::cli {
namespace {

using checkpoint::Checkpoint;
using checkpoint::Entry;
using checkpoint::Listing;
using nlohmann::json;

json score_as_json(const Entry& entry) {
  return entry.score ? json(*entry.score) : json(nullptr);
}

std::string count_or_dash(std::int64_t count) {
  return count < 0 ? "-" : std::to_string(count);
}

void print_listing(const Listing& listing) {
  std::vector<std::vector<std::string>> rows = {
      {"name", "step", "epoch", "score", "size", "created", ""}};
  const auto& entries = listing.entries;
  const Entry* best =
      entries.empty() ? nullptr : checkpoint::find_best(entries, entries.back().more_is_better);
  for (const Entry& entry : entries) {
    std::string marks = entry.is_fast ? "fast " : "";
    marks += &entry == &entries.back() ? "last " : "";
    marks += &entry == best ? "best " : "";
    rows.push_back({entry.name, count_or_dash(entry.step), count_or_dash(entry.epoch),
                    render_score(entry.score), render_bytes({entry.bytes}), entry.created, marks});
  }
  fmt::print("{}", render_table(rows));
}

json listing_as_json(const Listing& listing) {
  json all = {{"checkpoints", json::array()}, {"bad", json::array()}};
  for (const Entry& entry : listing.entries) {
    all["checkpoints"].push_back({{"path", entry.path.string()},
                                  {"name", entry.name},
                                  {"step", entry.step},
                                  {"epoch", entry.epoch},
                                  {"score", score_as_json(entry)},
                                  {"bytes", entry.bytes},
                                  {"created", entry.created},
                                  {"is_fast", entry.is_fast}});
  }
  for (const checkpoint::Bad& bad : listing.bad) {
    all["bad"].push_back({{"path", bad.path.string()}, {"error", bad.error.message}});
  }
  return all;
}

struct PartSummary {
  std::string name;
  std::size_t tensors = 0;
  std::uint64_t bytes = 0;
};

std::vector<PartSummary> summarise_parts(const Checkpoint& checkpoint) {
  std::vector<PartSummary> parts;
  for (const std::string& name : checkpoint.part_names()) {
    PartSummary part{.name = name, .tensors = checkpoint.part(name).tensors().size()};
    for (const auto& tensor : checkpoint.part(name).tensors()) {
      part.bytes += tensor.bytes.size();
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

json checkpoint_as_json(const Checkpoint& checkpoint) {
  json parts = json::array();
  for (const std::string& name : checkpoint.part_names()) {
    json tensors = json::array();
    for (const auto& tensor : checkpoint.part(name).tensors()) {
      tensors.push_back({{"name", tensor.name},
                         {"dtype", checkpoint::name_of(tensor.type)},
                         {"shape", tensor.shape},
                         {"bytes", tensor.bytes.size()}});
    }
    parts.push_back({{"name", name}, {"tensors", std::move(tensors)}});
  }
  return {{"path", checkpoint.path().string()},
          {"created", checkpoint.created()},
          {"bytes", checkpoint.bytes()},
          {"parts", std::move(parts)},
          {"state", checkpoint.state()}};
}

void print_checkpoint(const Checkpoint& checkpoint, bool with_tensors) {
  std::vector<std::vector<std::string>> facts = {{"path", checkpoint.path().string()},
                                                 {"created", checkpoint.created()}};
  const json& state = checkpoint.state();
  for (const char* key : {"run", "step", "epoch", "score", "seed", "config_hash"}) {
    if (state.is_object() && state.contains(key)) {
      const json& value = state[key];
      facts.push_back({key, value.is_string() ? value.get<std::string>() : value.dump()});
    }
  }
  facts.push_back({"size", render_bytes({checkpoint.bytes()})});
  fmt::print("{}\n", render_table(facts));
  std::vector<std::vector<std::string>> rows = {{"part", "tensors", "size"}};
  for (const PartSummary& part : summarise_parts(checkpoint)) {
    rows.push_back({part.name, std::to_string(part.tensors), render_bytes({part.bytes})});
  }
  fmt::print("{}", render_table(rows));
  if (!with_tensors) {
    return;
  }
  for (const std::string& name : checkpoint.part_names()) {
    rows = {};
    for (const auto& tensor : checkpoint.part(name).tensors()) {
      rows.push_back({tensor.name, std::string(checkpoint::name_of(tensor.type)),
                      fmt::format("[{}]", fmt::join(tensor.shape, ", "))});
    }
    fmt::print("\n{}:\n{}", name, render_table(rows));
  }
}

struct Verdict {
  Path path;
  std::uint64_t bytes = 0;
  double seconds = 0;
  Result<void> result;
};

Verdict verify_one(const Path& path) {
  const Stopwatch watch;
  Verdict verdict{.path = path, .result = {}};
  checkpoint::drop_cached_pages(path);
  const auto checkpoint = Checkpoint::open(path);
  if (checkpoint) {
    verdict.result = checkpoint->verify();
    verdict.bytes = checkpoint->bytes();
  } else {
    verdict.result = std::unexpected(checkpoint.error());
  }
  verdict.seconds = watch.seconds();
  return verdict;
}

double rate_of(const Verdict& verdict) {
  return static_cast<double>(verdict.bytes) / 1e9 / std::max(verdict.seconds, 1e-9);
}

// Every checkpoint that the words name; a run names all of its own.
Result<std::vector<Path>> list_named(const std::vector<std::string>& words) {
  std::vector<Path> paths;
  for (const Path path : words) {
    if (is_checkpoint(path)) {
      paths.push_back(path);
      continue;
    }
    const auto listing = KEDGE_TRY(checkpoint::list_checkpoints(KEDGE_TRY(folders_of_run(path))));
    for (const Entry& entry : listing.entries) {
      paths.push_back(entry.path);
    }
    for (const checkpoint::Bad& bad : listing.bad) {
      paths.push_back(bad.path);
    }
    if (listing.entries.empty() && listing.bad.empty()) {
      return fail(ErrorKind::NotFound, fmt::format("{} holds no checkpoints", path.string()));
    }
  }
  return paths;
}

json difference_as_json(const checkpoint::Difference& difference) {
  constexpr std::array<const char*, 4> kKinds = {"missing", "type", "shape", "value"};
  const auto& d = difference;
  json row = {{"kind", kKinds.at(static_cast<std::size_t>(d.kind))},
              {"part", d.part},
              {"name", d.name},
              {"a", d.a.empty() ? json(nullptr) : json(d.a)},
              {"b", d.b.empty() ? json(nullptr) : json(d.b)}};
  if (d.elements > 0) {
    row["count"] = d.count;
    row["elements"] = d.elements;
    row["index"] = d.index;
    row["max_abs"] = std::isfinite(d.max_abs) ? json(d.max_abs) : json(nullptr);
  }
  return row;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace

Result<int> ckpt_ls(Args args) {
  const VerbHelp help = {.usage = "kedge ckpt ls RUN",
                         .text = "Lists the checkpoints of a run, the oldest first.",
                         .flags = {kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return kExitDone;
  }
  KEDGE_TRY(check_positionals(*arguments, 1, "a run"));
  const auto folders = KEDGE_TRY(folders_of_run(arguments->positionals().front()));
  const Listing listing = KEDGE_TRY(checkpoint::list_checkpoints(folders));
  if (arguments->has("--json")) {
    print_json(listing_as_json(listing));
    return kExitDone;
  }
  print_listing(listing);
  for (const checkpoint::Bad& bad : listing.bad) {
    warn("{}", bad.error.message);
  }
  return kExitDone;
}

Result<int> ckpt_show(Args args) {
  const VerbHelp help = {
      .usage = "kedge ckpt show CKPT|RUN [--tensors]",
      .text = "What a checkpoint holds; of a run, its best. --json prints its whole state.",
      .flags = {{"--tensors", "", "list every tensor"}, kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return kExitDone;
  }
  KEDGE_TRY(check_positionals(*arguments, 1, "a checkpoint or a run"));
  const Checkpoint checkpoint = KEDGE_TRY(open_checkpoint_of(arguments->positionals().front()));
  if (arguments->has("--json")) {
    print_json(checkpoint_as_json(checkpoint));
  } else {
    print_checkpoint(checkpoint, arguments->has("--tensors"));
  }
  return kExitDone;
}

Result<int> ckpt_verify(Args args) {
  const VerbHelp help = {
      .usage = "kedge ckpt verify RUN|CKPT ...",
      .text =
          "Reads every byte of the checkpoints from the disk and compares it with its hash. The "
          "exit status is 1 when one is damaged.",
      .flags = {kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return kExitDone;
  }
  if (arguments->positionals().empty()) {
    KEDGE_TRY(check_positionals(*arguments, 1, "runs or checkpoints"));
  }
  int code = kExitDone;
  json rows = json::array();
  const bool as_json = arguments->has("--json");
  for (const Path& path : KEDGE_TRY(list_named(arguments->positionals()))) {
    const Verdict verdict = verify_one(path);
    code = verdict.result ? code : kExitFailed;
    if (as_json) {
      rows.push_back(
          {{"path", path.string()},
           {"is_good", verdict.result.has_value()},
           {"error", verdict.result ? json(nullptr) : json(verdict.result.error().message)},
           {"bytes", verdict.bytes},
           {"seconds", verdict.seconds}});
    } else if (verdict.result) {
      fmt::print("good  {}  {}, {:.2f} GB/s\n", path.string(), render_bytes({verdict.bytes}),
                 rate_of(verdict));
    } else {
      fmt::print("BAD   {}\n", verdict.result.error().message);
    }
  }
  if (as_json) {
    print_json(rows);
  }
  return code;
}

Result<int> ckpt_diff(Args args) {
  const VerbHelp help = {
      .usage = "kedge ckpt diff A B [--ignore KEYS]",
      .text =
          "What differs between two checkpoints (of a run, its best): values of the state, and "
          "tensors bit for bit. The exit status is 1 when something does.",
      .flags = {{"--ignore", "KEYS", "state values that may differ: config,best.value"},
                kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return kExitDone;
  }
  KEDGE_TRY(check_positionals(*arguments, 2, "two checkpoints"));
  const Checkpoint a = KEDGE_TRY(open_checkpoint_of(arguments->positionals()[0]));
  const Checkpoint b = KEDGE_TRY(open_checkpoint_of(arguments->positionals()[1]));
  const auto differences =
      checkpoint::compare(a, b, {.ignored = split(arguments->value("--ignore"))});
  json rows = json::array();
  for (const auto& difference : differences) {
    if (arguments->has("--json")) {
      rows.push_back(difference_as_json(difference));
    } else {
      fmt::print("{}\n", checkpoint::render(difference));
    }
  }
  if (arguments->has("--json")) {
    print_json(rows);
  } else if (differences.empty()) {
    fmt::print("equal\n");
  }
  return differences.empty() ? kExitDone : kExitFailed;
}

}  // namespace kedge::cli
