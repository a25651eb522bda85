// Files of runs: asked for, sent to and read from signed addresses.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "wandb/internal/blob_names.h"
#include "wandb/internal/encoding.h"
#include "wandb/internal/nodes.h"

namespace kedge::wandb {
namespace {

using graphql::Args;
using graphql::make_node;
using graphql::make_nodes;
using graphql::TypeBuilder;
using graphql::Value;
using nlohmann::json;

struct FileNode {
  RunNode run;
  store::RunFile file;
};

struct UploadFile {
  std::string name;
  std::string url;
};

struct UploadedFiles {
  RunNode run;
  std::vector<std::string> names;
};

struct FilesDone {
  bool is_done = true;
};

// "./a/b" and "a//b" are a/b. Usage for what leads out of the run.
Result<std::string> normal_path(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    if (part == "..") {
      return fail(ErrorKind::Usage, "a file's name must not hold '..'");
    }
    if (!part.empty() && part != ".") {
      parts.emplace_back(part);
    }
  }
  if (parts.empty()) {
    return fail(ErrorKind::Usage, "a file needs a name");
  }
  return fmt::format("{}", fmt::join(parts, "/"));
}

// SQL's LIKE: '%' is anything, '_' one character.
bool is_like(std::string_view text, std::string_view pattern) {
  std::size_t t = 0;
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;
  std::size_t mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '%') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && (pattern[p] == '_' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  return pattern.substr(p).find_first_not_of('%') == std::string_view::npos;
}

// The console is a file too, also before the client has sent it as one.
Result<std::vector<store::RunFile>> list_files(const RunNode& run) {
  return run.call().api.store.list_files(run.key());
}

Result<Value> find_run_files(const RunNode& run, const Args& args) {
  std::vector<std::string> wanted;
  for (const std::string& name : args.texts("names")) {
    wanted.push_back(KEDGE_TRY(normal_path(name)));
  }
  const auto pattern = args.text("pattern");
  std::vector<FileNode> files;
  for (store::RunFile& file : KEDGE_TRY(list_files(run))) {
    const bool is_wanted = wanted.empty() || std::ranges::find(wanted, file.path) != wanted.end();
    if (is_wanted && (!pattern || is_like(file.path, *pattern))) {
      files.push_back({run, std::move(file)});
    }
  }
  return make_node(make_page(std::move(files), parse_page(args)));
}

std::string read_url(const FileNode& node) {
  const json meaning = {{"get", node.file.digest}, {"name", node.file.path}};
  return node.run.call().signed_url(meaning, node.file.path);
}

std::string run_upload_url(const RunNode& run, const std::string& path) {
  const json meaning = {
      {"put", "run"}, {"project", run.key().project}, {"run", run.key().id}, {"path", path}};
  return run.call().signed_url(meaning, path);
}

Result<RunNode> named_run(const Call& call, const Args& input) {
  const store::RunKey key{project_or_default(input.text("projectName")),
                          input.text("runName").value_or("")};
  KEDGE_TRY(call.check(key.project, key.id));
  RunNode run(call, key, call.entity_or_viewer(input.text("entityName")));
  KEDGE_TRY(run.facts());
  return run;
}

Result<Value> create_run_files(const Call& call, const Args& args) {
  const Args input = args.input();
  return make_node(UploadedFiles{KEDGE_TRY(named_run(call, input)), input.texts("files")});
}

Result<Value> mark_uploaded(const Call& call, const Args& args) {
  KEDGE_TRY(named_run(call, args.input()));
  return make_node(FilesDone());
}

// Ids of files are those of their runs with the path behind.
Result<Value> delete_files(const Call& call, const Args& args) {
  for (const std::string& id : args.input().texts("files")) {
    const auto text = parse_id("File", id);
    const auto bar = text ? text->find('|') : std::string::npos;
    if (bar == std::string::npos) {
      return fail(ErrorKind::NotFound, fmt::format("'{}' is no file's id", id));
    }
    const RunNode run = KEDGE_TRY(load_run(call, text->substr(0, bar)));
    KEDGE_TRY(unbind_file(call, run.key(), text->substr(bar + 1)));
  }
  return make_node(FilesDone());
}

Result<std::vector<UploadFile>> upload_files(const UploadedFiles& asked) {
  std::vector<UploadFile> files;
  for (const std::string& name : asked.names) {
    files.push_back({name, run_upload_url(asked.run, KEDGE_TRY(normal_path(name)))});
  }
  return files;
}

void declare_run_file(graphql::Schema& schema) {
  TypeBuilder<FileNode>(schema, "File")
      .leaf("id",
            [](const FileNode& node) {
              return render_id("File", node.run.id() + "|" + node.file.path);
            })
      .leaf("name", [](const FileNode& node) { return node.file.path; })
      .leaf("displayName", [](const FileNode& node) { return node.file.path; })
      .leaf("url",
            [](const FileNode& node, const Args& args) {
              return args.flag("upload") ? run_upload_url(node.run, node.file.path)
                                         : read_url(node);
            })
      .leaf("directUrl", read_url)
      .leaf("uploadUrl",
            [](const FileNode& node) { return run_upload_url(node.run, node.file.path); })
      .leaf("sizeBytes", [](const FileNode& node) { return node.file.size; })
      .leaf("mimetype", [](const FileNode& node) { return http::content_type_of(node.file.path); })
      .leaf("updatedAt",
            [](const FileNode& node) -> Result<json> {
              return json(render_time(KEDGE_TRY(node.run.facts())->heartbeat_us));
            })
      .leaf("md5", [](const FileNode& node) -> Result<json> {
        return json(KEDGE_TRY(find_md5(node.run.call(), node.file.digest)));
      });
  declare_connection(schema, "File", "File");
}

}  // namespace

void declare_run_files(graphql::Schema& schema) {
  declare_run_file(schema);
  TypeBuilder<RunNode>(schema, "Run")
      .object("files", "FileConnection", find_run_files)
      .leaf("fileCount", [](const RunNode& run) -> Result<json> {
        return json(KEDGE_TRY(list_files(run)).size());
      });
  TypeBuilder<UploadFile>(schema, "UploadFile")
      .leaf("name", &UploadFile::name)
      .leaf("uploadUrl", &UploadFile::url);
  TypeBuilder<UploadedFiles>(schema, "CreateRunFilesPayload")
      .leaf("runID", [](const UploadedFiles& made) { return made.run.id(); })
      .leaf("uploadHeaders", [](const UploadedFiles&) { return json::array(); })
      .object("files", "UploadFile", [](const UploadedFiles& made) -> Result<Value> {
        return make_nodes(KEDGE_TRY(upload_files(made)));
      });
  TypeBuilder<FilesDone>(schema, "FilesPayload")
      .leaf("success", &FilesDone::is_done)
      .leaf("clientMutationId", [](const FilesDone&) { return json(); });
  TypeBuilder<Call>(schema, "Mutation")
      .object("createRunFiles", "CreateRunFilesPayload", create_run_files)
      .object("markRunFilesUploaded", "FilesPayload", mark_uploaded)
      .object("deleteFiles", "FilesPayload", delete_files);
  schema.add_input("CreateRunFilesInput", "entityName projectName runName files");
}

}  // namespace kedge::wandb
