#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/server_calls.h"
#include "cli/shared/arguments.h"
#include "cli/shared/json_output.h"
#include "cli/shared/text_table.h"
#include "cli/verbs.h"
#include "core/file_digest.h"
#include "core/hash.h"
#include "core/inside.h"
#include "core/log.h"
#include "core/progress.h"
#include "core/units.h"
#include "core/url.h"

namespace kedge::cli {
namespace {

// "mnist/weights:v3".
struct ArtifactWord {
  std::string project;
  std::string name;
  std::string version = "latest";

  std::string path() const {
    return fmt::format("/api/v1/artifacts/{}/{}", encode_url_part(project), encode_url_part(name));
  }

  std::string version_path() const { return path() + "/" + encode_url_part(version); }
};

Result<ArtifactWord> parse_word(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == text.size()) {
    return fail(ErrorKind::Usage, fmt::format("'{}' names no artifact", text),
                "write PROJECT/NAME, or PROJECT/NAME:VERSION");
  }
  ArtifactWord word{.project = text.substr(0, slash), .name = text.substr(slash + 1)};
  if (const std::size_t colon = word.name.find(':'); colon != std::string::npos) {
    word.version = word.name.substr(colon + 1);
    word.name.resize(colon);
  }
  return word;
}

Result<ServerCalls> open_server(const Arguments& arguments) {
  const auto url = server_of(arguments);
  if (!url) {
    return fail(ErrorKind::Usage, "artifacts are on a tracking server, and none was named",
                "give --server http://HOST:PORT, or set $KEDGE_SERVER");
  }
  return ServerCalls::open(*url, arguments);
}

struct LocalFile {
  Path source;
  nlohmann::json entry;  // path, digest, size
};

// A file under its own name, the files of a folder under their paths in it.
Result<std::vector<LocalFile>> collect_files(const std::vector<std::string>& words) {
  std::vector<LocalFile> files;
  const auto add = [&](const Path& source, const std::string& path) -> Result<void> {
    files.push_back({source,
                     {{"path", path},
                      {"digest", KEDGE_TRY(sha256_of_file(source))},
                      {"size", KEDGE_TRY(size_of_file(source))}}});
    return {};
  };
  for (const std::string& word : words) {
    if (std::filesystem::is_regular_file(word)) {
      KEDGE_TRY(add(word, Path(word).filename().string()));
    } else if (std::filesystem::is_directory(word)) {
      for (const auto& inside : std::filesystem::recursive_directory_iterator(word)) {
        if (inside.is_regular_file()) {
          KEDGE_TRY(add(inside.path(), inside.path().lexically_relative(word).string()));
        }
      }
    } else {
      return fail(ErrorKind::NotFound, fmt::format("there is no file or folder '{}'", word));
    }
  }
  std::ranges::sort(files, {}, [](const LocalFile& file) { return file.source; });
  return files;
}

Result<void> send_missing(ServerCalls& server, const std::vector<LocalFile>& files,
                          const nlohmann::json& missing) {
  std::int64_t total = 0;
  std::map<std::string, const LocalFile*> wanted;
  for (const LocalFile& file : files) {
    const auto digest = file.entry["digest"].get<std::string>();
    if (std::ranges::find(missing, file.entry["digest"]) != missing.end() &&
        wanted.emplace(digest, &file).second) {
      total += file.entry["size"].get<std::int64_t>();
    }
  }
  Progress progress("sending", total, "bytes");
  std::int64_t done = 0;
  for (const auto& [digest, file] : wanted) {
    KEDGE_TRY(server.send_file("/api/v1/blobs/" + digest, file->source));
    done += file->entry["size"].get<std::int64_t>();
    if (progress.advance(done, done)) {
      progress.draw(file->source.filename().string());
    }
  }
  return {};
}

std::string render_size(const nlohmann::json& json) {
  return render_bytes({json["size"].get<std::uint64_t>()});
}

Result<void> put(Args args) {
  const VerbHelp help = {
      .usage = "kedge artifact put PROJECT/NAME FILE|FOLDER ... --type TYPE",
      .text =
          "Makes a version of an artifact out of files. Only what the server does not have yet is "
          "sent;\nwhere the newest version has the same files, there is no new one.",
      .flags = {{"--type", "TYPE", "dataset, model, checkpoint, ..."},
                {"--alias", "NAME", "also name this version so; may be repeated"},
                {"--description", "TEXT", "what it is"},
                {"--run", "ID", "the run of the project that made it"},
                kServerFlag,
                kTokenFlag,
                kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  const auto& words = arguments->positionals();
  if (words.size() < 2 || arguments->value("--type").empty()) {
    return fail(ErrorKind::Usage, "artifact put needs a name, files and a type",
                fmt::format("usage: {}", help.usage));
  }
  const ArtifactWord word = KEDGE_TRY(parse_word(words.front()));
  ServerCalls server = KEDGE_TRY(open_server(*arguments));
  const auto files = KEDGE_TRY(collect_files({words.begin() + 1, words.end()}));
  nlohmann::json draft = {{"type", arguments->value("--type")},
                          {"description", arguments->value("--description")},
                          {"aliases", arguments->values("--alias")},
                          {"files", nlohmann::json::array()}};
  for (const LocalFile& file : files) {
    draft["files"].push_back(file.entry);
  }
  if (arguments->has("--run")) {
    draft["run"] = arguments->value("--run");
  }
  nlohmann::json answer = KEDGE_TRY(server.send("POST", word.path(), draft));
  if (!answer["missing"].empty()) {
    KEDGE_TRY(send_missing(server, files, answer["missing"]));
    answer = KEDGE_TRY(server.send("POST", word.path(), draft));
  }
  if (answer["version"].is_null()) {
    return fail(ErrorKind::Unavailable, "files vanished from the server while they were sent",
                "somebody deleted them; try again");
  }
  const nlohmann::json& version = answer["version"];
  if (arguments->has("--json")) {
    print_json(version);
  }
  say("{}/{}:{}  {} files, {}  {}", word.project, word.name, version["version"].get<std::string>(),
      version["file_count"].get<int>(), render_size(version),
      fmt::join(version["aliases"].get<std::vector<std::string>>(), ", "));
  return {};
}

// Written beside, checked, renamed: a file that is there is whole.
Result<void> get_file(ServerCalls& server, const nlohmann::json& file, const Path& target) {
  const auto digest = file["digest"].get<std::string>();
  KEDGE_TRY(make_dirs(target.parent_path()));
  if (std::filesystem::exists(target) && KEDGE_TRY(sha256_of_file(target)) == digest) {
    return {};
  }
  return replace_file(target, [&](const Path& beside) -> Result<void> {
    Sha256 hash;
    KEDGE_TRY(write_synced(beside, target, [&](int fd) {
      return server.fetch_file("/api/v1/blobs/" + digest,
                               [&](std::string_view bytes) -> Result<void> {
                                 hash.add(as_bytes(bytes));
                                 return write_all(fd, bytes, target);
                               });
    }));
    if (const std::string got = hash.finish_hex(); got != digest) {
      return fail(ErrorKind::Corrupt, fmt::format("{} arrived with the hash {} instead of {}",
                                                  target.string(), got, digest));
    }
    return {};
  });
}

Result<void> get_artifact(Args args) {
  const VerbHelp help = {
      .usage = "kedge artifact get PROJECT/NAME[:VERSION]",
      .text =
          "Fetches a version (an alias, v3, or the latest) into a folder. Files that are there and "
          "have\nthe right content are not fetched again.",
      .flags = {{"--to", "DIR", "the folder (NAME-vN)"},
                {"--run", "ID", "the run of the project that uses it"},
                kServerFlag,
                kTokenFlag,
                kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  if (arguments->positionals().size() != 1) {
    return fail(ErrorKind::Usage, "artifact get needs one artifact",
                fmt::format("usage: {}", help.usage));
  }
  const ArtifactWord word = KEDGE_TRY(parse_word(arguments->positionals().front()));
  ServerCalls server = KEDGE_TRY(open_server(*arguments));
  const nlohmann::json version = KEDGE_TRY(server.fetch(word.version_path()));
  const auto own_name = fmt::format("{}-{}", word.name, version["version"].get<std::string>());
  const Path folder = arguments->has("--to") ? Path(arguments->value("--to"))
                                             : KEDGE_TRY(join_inside({}, own_name));
  Progress progress("fetching", version["size"].get<std::int64_t>(), "bytes");
  std::int64_t done = 0;
  for (const nlohmann::json& file : version["files"]) {
    if (const auto reference = file.value("reference", ""); !reference.empty()) {
      say("{} stays where it is: {}", file["path"].get<std::string>(), reference);
      continue;
    }
    const Path target = KEDGE_TRY(join_inside(folder, file["path"].get<std::string>()));
    KEDGE_TRY(get_file(server, file, target));
    done += file["size"].get<std::int64_t>();
    if (progress.advance(done, done)) {
      progress.draw(file["path"].get<std::string>());
    }
  }
  progress.clear();
  if (arguments->has("--run")) {
    KEDGE_TRY(
        server.send("POST", word.version_path() + "/use", {{"run", arguments->value("--run")}}));
  }
  if (arguments->has("--json")) {
    print_json(version);
  }
  say("{} files of {} are in {}", version["file_count"].get<int>(),
      version["version"].get<std::string>(), folder.string());
  return {};
}

Result<void> list_artifacts(Args args) {
  const VerbHelp help = {
      .usage = "kedge artifact ls PROJECT[/NAME]",
      .text = "Lists the artifacts of a project, or the versions of one.",
      .flags = {{"--type", "TYPE", "only these"}, kServerFlag, kTokenFlag, kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  if (arguments->positionals().size() != 1) {
    return fail(ErrorKind::Usage, "artifact ls needs a project",
                fmt::format("usage: {}", help.usage));
  }
  const std::string& text = arguments->positionals().front();
  ServerCalls server = KEDGE_TRY(open_server(*arguments));
  std::vector<std::vector<std::string>> rows;
  nlohmann::json list;
  if (text.find('/') == std::string::npos) {
    list = KEDGE_TRY(server.fetch(fmt::format("/api/v1/artifacts/{}?type={}", encode_url_part(text),
                                              encode_url_part(arguments->value("--type")))))
               .at("artifacts");
    rows.push_back({"NAME", "TYPE", "VERSIONS", "SIZE"});
    for (const nlohmann::json& artifact : list) {
      rows.push_back({artifact["name"], artifact["type"],
                      std::to_string(artifact["version_count"].get<int>()), render_size(artifact)});
    }
  } else {
    list = KEDGE_TRY(server.fetch(KEDGE_TRY(parse_word(text)).path())).at("versions");
    rows.push_back({"VERSION", "FILES", "SIZE", "ALIASES", "MADE BY"});
    for (const nlohmann::json& version : list) {
      rows.push_back(
          {version["version"], std::to_string(version["file_count"].get<int>()),
           render_size(version),
           fmt::format("{}", fmt::join(version["aliases"].get<std::vector<std::string>>(), ", ")),
           version["made_by"].is_null() ? "-" : version["made_by"]["id"]});
    }
  }
  if (arguments->has("--json")) {
    print_json(list);
  } else {
    fmt::print("{}", render_table(rows));
  }
  return {};
}

Result<void> rm(Args args) {
  const VerbHelp help = {.usage = "kedge artifact rm PROJECT/NAME:VERSION",
                         .text = "Deletes a version, and the bytes that nothing else holds.",
                         .flags = {kServerFlag, kTokenFlag, kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  if (arguments->positionals().size() != 1 ||
      arguments->positionals().front().find(':') == std::string::npos) {
    return fail(ErrorKind::Usage, "artifact rm needs one version",
                fmt::format("usage: {}", help.usage));
  }
  const ArtifactWord word = KEDGE_TRY(parse_word(arguments->positionals().front()));
  ServerCalls server = KEDGE_TRY(open_server(*arguments));
  const nlohmann::json answer = KEDGE_TRY(server.send("DELETE", word.version_path(), nullptr));
  if (arguments->has("--json")) {
    print_json(answer);
  }
  say("deleted; {} freed", render_bytes({answer["freed_bytes"].get<std::uint64_t>()}));
  return {};
}

Result<void> lineage(Args args) {
  const VerbHelp help = {
      .usage = "kedge artifact lineage PROJECT/NAME[:VERSION]",
      .text = "Prints what a version came from and what came of it, one step a line.",
      .flags = {kServerFlag, kTokenFlag, kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  if (arguments->positionals().size() != 1) {
    return fail(ErrorKind::Usage, "artifact lineage needs one artifact",
                fmt::format("usage: {}", help.usage));
  }
  const ArtifactWord word = KEDGE_TRY(parse_word(arguments->positionals().front()));
  ServerCalls server = KEDGE_TRY(open_server(*arguments));
  const nlohmann::json answer = KEDGE_TRY(server.fetch(word.version_path() + "/lineage"));
  if (arguments->has("--json")) {
    print_json(answer);
    return {};
  }
  for (const nlohmann::json& edge : answer["edges"]) {
    fmt::print("{} -> {}\n", edge["from"].get<std::string>(), edge["to"].get<std::string>());
  }
  if (answer["edges"].empty()) {
    fmt::print("{}: made and used by nobody\n", answer["nodes"][0]["id"].get<std::string>());
  }
  return {};
}

}  // namespace

int run_artifact(Args args) {
  const VerbHelp help = {
      .usage =
          "kedge artifact put PROJECT/NAME FILE|FOLDER ... --type TYPE\n       "
          "kedge artifact get PROJECT/NAME[:VERSION] [--to DIR]\n       "
          "kedge artifact ls PROJECT[/NAME]\n       "
          "kedge artifact rm PROJECT/NAME:VERSION\n       "
          "kedge artifact lineage PROJECT/NAME[:VERSION]",
      .text = "Versioned files on a tracking server: data sets, models, checkpoints.",
      .flags = {}};
  const std::map<std::string, Result<void> (*)(Args)> verbs = {{"get", get_artifact},
                                                               {"lineage", lineage},
                                                               {"ls", list_artifacts},
                                                               {"put", put},
                                                               {"rm", rm}};
  if (!args.empty() && verbs.contains(args.front())) {
    const auto done = verbs.at(args.front())(args.subspan(1));
    return done ? kExitDone : report(done.error());
  }
  std::vector<std::string> names;
  for (const auto& [name, verb] : verbs) {
    names.push_back(name);
  }
  return help_or_unknown(args, help, names);
}

}  // namespace kedge::cli
