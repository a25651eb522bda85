// `kedge runs import`: runs of what TensorBoard or a CSV table has.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/runs.h"
#include "cli/shared/arguments.h"
#include "core/log.h"
#include "exchange/curves.h"
#include "exchange/event_file.h"
#include "track/import.h"

namespace kedge::cli {
namespace {

// One run to make: a CSV file, or the event files of one folder.
struct ImportSource {
  std::string name;
  std::vector<Path> event_files;
  Path csv;
};

// As TensorBoard sees them: each folder with event files is a run.
std::vector<ImportSource> find_event_folders(const Path& top) {
  std::map<Path, std::vector<Path>> folders;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(top)) {
    if (entry.is_regular_file() && exchange::is_event_file(entry.path())) {
      folders[entry.path().parent_path()].push_back(entry.path());
    }
  }
  std::vector<ImportSource> sources;
  for (auto& [folder, files] : folders) {
    std::ranges::sort(files);  // their names begin with the time they were made
    const Path inside = folder.lexically_relative(top);
    const Path name = inside == "." ? std::filesystem::absolute(top).filename() : inside;
    sources.push_back({name.string(), std::move(files), {}});
  }
  return sources;
}

Result<std::vector<ImportSource>> find_sources(const std::vector<std::string>& words) {
  std::vector<ImportSource> sources;
  for (const std::string& word : words) {
    if (std::filesystem::is_directory(word)) {
      auto found = find_event_folders(word);
      if (found.empty()) {
        return fail(ErrorKind::NotFound,
                    fmt::format("there are no TensorBoard event files in '{}'", word));
      }
      std::ranges::move(found, std::back_inserter(sources));
    } else if (exchange::is_event_file(word)) {
      sources.push_back({Path(word).parent_path().filename().string(), {word}, {}});
    } else if (std::filesystem::is_regular_file(word)) {
      sources.push_back({Path(word).stem().string(), {}, word});
    } else {
      return fail(ErrorKind::NotFound, fmt::format("there is no file or folder '{}'", word));
    }
  }
  return sources;
}

Result<void> add_value(track::RunImport& run, const exchange::Event& event,
                       const exchange::EventValue& value) {
  if (const auto* scalar = std::get_if<double>(&value.content)) {
    const track::Scalar one{value.tag, *scalar};
    return run.add_scalars(event.step, event.time_us, {&one, 1});
  }
  if (const auto* histogram = std::get_if<exchange::EventHistogram>(&value.content)) {
    return run.add_record(
        "histogram", event.step, event.time_us,
        {{"key", value.tag}, {"edges", histogram->edges}, {"counts", histogram->counts}});
  }
  if (const auto* text = std::get_if<exchange::EventText>(&value.content)) {
    return run.add_record("text", event.step, event.time_us,
                          {{"key", value.tag}, {"text", text->text}});
  }
  for (const std::string& image : std::get<exchange::EventImages>(value.content).encoded) {
    const std::string path = KEDGE_TRY(run.add_media(value.tag, image));
    KEDGE_TRY(
        run.add_record("image", event.step, event.time_us, {{"name", value.tag}, {"path", path}}));
  }
  return {};
}

Result<void> import_events(track::RunImport& run, const std::vector<Path>& files) {
  for (const Path& file : files) {
    auto reader = KEDGE_TRY(exchange::EventFileReader::open(file));
    while (const auto event = KEDGE_TRY(reader.next())) {
      for (const exchange::EventValue& value : event->values) {
        KEDGE_TRY(add_value(run, *event, value));
      }
    }
    for (const auto& [plugin, count] : reader.skipped()) {
      warn("{}: {} values of '{}' were passed over", file.string(), count, plugin);
    }
  }
  return {};
}

Result<exchange::ImportedCurves> read_csv(const Path& file, const Arguments& arguments) {
  auto imported = KEDGE_TRY(exchange::read_csv_curves(
      KEDGE_TRY(read_file(file)), {.step_column = arguments.value("--step-column"),
                                   .time_column = arguments.value("--time-column")}));
  for (const std::string& note : imported.notes) {
    warn("{}: {}", file.string(), note);
  }
  return imported;
}

Result<void> add_curves(track::RunImport& run, const exchange::ImportedCurves& imported) {
  for (const auto& [key, points] : imported.curves) {
    for (const track::Point& point : points) {
      const track::Scalar one{key, point.value};
      KEDGE_TRY(run.add_scalars(point.step, point.time_us, {&one, 1}));
    }
  }
  return {};
}

Result<void> import_run(const ImportSource& source, const Arguments& arguments) {
  exchange::ImportedCurves curves;
  if (!source.csv.empty()) {
    curves = KEDGE_TRY(read_csv(source.csv, arguments));
  }
  track::RunStart start;
  start.dir = arguments.value("--dir", "runs");
  start.project = arguments.value("--project", "imported");
  start.name = arguments.value("--name", source.name);
  start.tags = arguments.values("--tag");
  auto run = KEDGE_TRY(track::RunImport::create(start));
  auto done = add_curves(run, curves);
  if (done) {
    done = import_events(run, source.event_files);
  }
  if (done) {
    done = run.finish();
  }
  if (!done) {  // half a run would be taken for a whole one
    std::error_code ignored;
    std::filesystem::remove_all(run.path(), ignored);
    return done;
  }
  fmt::print("{}\n", run.path().string());
  return {};
}

}  // namespace

Result<void> import_runs(Args args) {
  const VerbHelp help = {
      .usage = "kedge runs import FILE|FOLDER ...",
      .text =
          "Makes runs of what other tools logged: a CSV table with a step column, TensorBoard "
          "event "
          "files, or a\nfolder of them, where each folder that has some is a run. Steps and times "
          "stay as they are.",
      .flags = {{"--project", "P", "the project of the new runs (imported)"},
                {"--name", "NAME", "the run's name, where there is only one"},
                {"--tag", "TAG", "give them this tag; may be repeated"},
                {"--step-column", "C", "of a CSV table (step, _step, global_step, epoch ...)"},
                {"--time-column", "C", "of a CSV table (time_us, timestamp ...)"},
                kRunsDirFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  const auto sources = KEDGE_TRY(find_sources(arguments->positionals()));
  if (sources.empty() || (sources.size() > 1 && arguments->has("--name"))) {
    return fail(ErrorKind::Usage,
                sources.empty()
                    ? "runs import needs files or folders"
                    : fmt::format("--name is for one run, these are {}", sources.size()),
                fmt::format("usage: {}", help.usage));
  }
  for (const ImportSource& source : sources) {
    KEDGE_TRY(import_run(source, *arguments));
  }
  return {};
}

}  // namespace kedge::cli
