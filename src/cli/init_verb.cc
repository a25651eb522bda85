#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/shared/arguments.h"
#include "cli/shared/plugin_table.h"
#include "cli/templates.h"
#include "cli/verbs.h"
#include "config/load.h"
#include "core/file.h"
#include "core/log.h"
#include "core/nearest.h"
#include "data/get.h"

namespace kedge::cli {
namespace {

constexpr std::string_view kDefaultTemplate = "cifar10";

Result<const Template*> find_template(const std::string& name) {
  const auto found = std::ranges::find(templates(), name, &Template::name);
  if (found != templates().end()) {
    return &*found;
  }
  std::vector<std::string> names;
  for (const Template& known : templates()) {
    names.emplace_back(known.name);
  }
  Error error = unknown_name("template", name, names);
  if (nearest_name(name, names).empty()) {
    error.hint +=
        fmt::format("; the folder's name comes second: kedge init {} {}", kDefaultTemplate, name);
  }
  return std::unexpected(std::move(error));
}

Result<void> refuse_existing(const Template& chosen, const Path& folder) {
  std::vector<std::string> existing;
  for (const TemplateFile& file : chosen.files) {
    std::error_code ignored;
    if (std::filesystem::exists(std::filesystem::symlink_status(folder / file.name, ignored))) {
      existing.push_back((folder / file.name).string());
    }
  }
  if (existing.empty()) {
    return {};
  }
  return fail(ErrorKind::Usage,
              fmt::format("already there: {}; nothing was written", fmt::join(existing, ", ")),
              fmt::format("name another folder: kedge init {} DIR", chosen.name));
}

Result<void> write_files(const Template& chosen, const Path& folder) {
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(folder, ignored);
  KEDGE_TRY(make_dirs(folder));
  for (const TemplateFile& file : chosen.files) {
    if (auto written = write_file_atomic(folder / file.name, file.content); !written) {
      // A part of a template would be refused by the next try, so what is there goes away.
      for (const TemplateFile* earlier = chosen.files.data(); earlier != &file; ++earlier) {
        std::filesystem::remove(folder / earlier->name, ignored);
      }
      if (is_new) {
        std::filesystem::remove(folder, ignored);
      }
      return written;
    }
  }
  return {};
}

void print_templates(bool as_json) {
  std::vector<std::pair<std::string, std::string>> list;
  for (const Template& known : templates()) {
    list.emplace_back(known.name, known.summary);
  }
  print_plugins(list, as_json);
}

Result<void> say_next(const Template& chosen, const Path& folder) {
  const auto config = KEDGE_TRY(config::load_config({.file = folder / "config.yaml"}));
  const std::vector<std::string> gettable = data::list_gettable();
  std::vector<std::string_view> names;
  for (const TemplateFile& file : chosen.files) {
    names.push_back(file.name);
  }
  say("{} has {}", (folder / "").string(), fmt::join(names, ", "));
  say("\nWhat next (README.md says more):");
  if (folder != ".") {
    say("  cd {}", folder.string());
  }
  if (std::ranges::find(gettable, config->data.name) != gettable.end()) {
    say("  {:<28} fetches the data", "kedge data get " + config->data.name);
  }
  say("  {:<28} shows every value and where it comes from", "kedge config show");
  say("  {:<28} trains; key=value changes a value", "kedge train");
  return {};
}

Result<void> init(Args args) {
  const VerbHelp help = {
      .usage = "kedge init [TEMPLATE] [DIR]",
      .text =
          "Makes a folder that runs: config.yaml, sweep.yaml and a README. TEMPLATE is cifar10\n"
          "unless given, DIR the template's name. Files that are there are not overwritten.",
      .flags = {{"--list", "", "print the templates"}, {"--json", "", "with --list: print JSON"}}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  if (arguments->has("--list")) {
    print_templates(arguments->has("--json"));
    return {};
  }
  const std::vector<std::string>& words = arguments->positionals();
  if (words.size() > 2 || !arguments->overrides().empty()) {
    return fail(ErrorKind::Usage, "init takes a template and a folder, nothing else",
                "kedge init --list shows the templates; values are changed in config.yaml");
  }
  const Template* chosen =
      KEDGE_TRY(find_template(words.empty() ? std::string(kDefaultTemplate) : words[0]));
  const Path folder = words.size() == 2 ? Path(words[1]) : Path(chosen->name);
  KEDGE_TRY(refuse_existing(*chosen, folder));
  KEDGE_TRY(write_files(*chosen, folder));
  return say_next(*chosen, folder);
}

}  // namespace

int run_init(Args args) {
  const auto done = init(args);
  return done ? kExitDone : report(done.error());
}

}  // namespace kedge::cli
