#include "jobs/condor/sandbox.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "config/load.h"

namespace kedge::jobs::condor {
namespace {

namespace fs = std::filesystem;

bool is_address(std::string_view input) {
  return input.find("://") != std::string_view::npos;
}

std::string last_part(std::string_view address) {
  while (address.ends_with('/')) {
    address.remove_suffix(1);
  }
  return std::string(address.substr(address.rfind('/') + 1));
}

// "/a/b/c" below "/a" is "b/c", "/a" itself is "."; empty: elsewhere.
std::string below(std::string_view path, const std::string& folder) {
  if (path == folder) {
    return ".";
  }
  return path.starts_with(folder + "/") ? std::string(path.substr(folder.size() + 1)) : "";
}

std::string path_inside(std::string_view path, const JobSpec& spec, const SubmissionPlace& place) {
  if (path == place.kedge.string()) {
    return "kedge";
  }
  if (std::string name = below(path, place.folder.string()); !name.empty()) {
    return fmt::format("{}/{}", kJobFiles, name);
  }
  const std::string name = below(path, spec.folder.string());
  if (name.empty()) {
    return std::string(path);
  }
  // A name without a slash would be looked up in PATH.
  return name.find('/') == std::string::npos && name != "." ? "./" + name : name;
}

// Relative to the folder where it can be, without a slash at its end.
std::string name_inside(const std::string& path, const JobSpec& spec) {
  std::string name = Path(path_inside(path, spec, {})).lexically_normal().string();
  while (name.size() > 1 && name.ends_with('/')) {
    name.pop_back();
  }
  return name;
}

// What a step before this one makes: it is not there yet when the DAG is submitted, and travels by
// itself when the step starts.
constexpr std::string_view kOfStep = "step://";

Result<void> add_input(Inputs& inputs, const std::string& input, const JobSpec& spec) {
  if (input.starts_with(kOfStep)) {
    const std::string name = name_inside(input.substr(kOfStep.size()), spec);
    inputs.sent.push_back({.source = (spec.folder / name).string(), .place = name});
    return {};
  }
  if (is_address(input)) {
    inputs.sent.push_back({.source = input, .place = last_part(input)});
    return {};
  }
  const Path path = (spec.folder / input).lexically_normal();
  const std::string inside = below(path.string(), spec.folder.string());
  // From outside of the folder only the name is kept.
  const std::string name = inside.empty() ? last_part(path.string()) : inside;
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  const std::uintmax_t size = is_folder ? 0 : fs::file_size(path, error);
  if (error) {
    return fail(ErrorKind::Usage,
                fmt::format("job.inputs: '{}' cannot be read: {}", input, error.message()));
  }
  if (!is_folder && size >= kSentAlone_bytes) {
    inputs.sent.push_back({.source = path.string(), .place = name});
  } else {
    inputs.packed.push_back(
        {.folder = inside.empty() ? path.parent_path() : spec.folder, .name = name});
  }
  return {};
}

// Whether job.inputs brings it, maybe as a part of a larger folder.
bool is_listed(const std::string& data, const JobSpec& spec) {
  const std::string name = name_inside(data, spec);
  return std::ranges::any_of(spec.wants.inputs, [&](const std::string& input) {
    return name == name_inside(input, spec) || !below(name, name_inside(input, spec)).empty();
  });
}

}  // namespace

Result<std::optional<Training>> find_training(const JobSpec& spec) {
  if (!spec.is_kedge || spec.command.size() < 2 || spec.command[1] != "train") {
    return std::nullopt;
  }
  const auto text = spec.files.find("config.yaml");
  config::LoadOptions options;
  options.text = text == spec.files.end() ? "" : text->second;
  for (std::string word : spec.command) {
    const bool is_override = word.find('=') != std::string::npos && !word.starts_with('/');
    if (const std::size_t at = word.find("{task}"); at != std::string::npos) {
      word.replace(at, 6, "0");
    }
    if (is_override) {
      options.overrides.push_back(word);
    }
  }
  const auto config = KEDGE_TRY(config::load_config(options));
  Training training{.runs = name_inside(config->track.dir, spec)};
  training.run = fmt::format("{}/{}/{}", training.runs, config->run.project, config->run.id);
  if (config->data.name != "synthetic") {
    training.data =
        config->data.path.empty() ? config->data.root + "/" + config->data.name : config->data.path;
  }
  return training;
}

bool is_shared(const JobSpec& spec) {
  return spec.wants.nodes > 1 ||
         (spec.is_kedge && spec.command.size() > 1 && spec.command[1] == "agent");
}

Result<Inputs> sort_inputs(const JobSpec& spec) {
  Inputs inputs;
  for (const std::string& input : spec.wants.inputs) {
    KEDGE_TRY(add_input(inputs, input, spec));
  }
  const std::string program = below(spec.command.front(), spec.folder.string());
  if (!program.empty() && !spec.is_kedge && !is_listed(program, spec)) {
    KEDGE_TRY(add_input(inputs, program, spec));
  }
  const auto training = KEDGE_TRY(find_training(spec));
  std::error_code error;
  if (training && !training->data.empty() && fs::exists(spec.folder / training->data, error) &&
      !is_listed(training->data, spec)) {
    KEDGE_TRY(add_input(inputs, training->data, spec));
  }
  return inputs;
}

std::string word_inside(std::string_view word, const JobSpec& spec, const SubmissionPlace& place) {
  const std::size_t equals = word.find('=');
  if (word.starts_with('/') || equals == std::string_view::npos) {
    return path_inside(word, spec, place);
  }
  return fmt::format("{}={}", word.substr(0, equals),
                     path_inside(word.substr(equals + 1), spec, place));
}

Result<std::vector<std::string>> outputs_of(const JobSpec& spec) {
  std::vector<std::string> outputs;
  for (const std::string& output : spec.wants.outputs) {
    outputs.push_back(name_inside(output, spec));
  }
  const auto training = KEDGE_TRY(find_training(spec));
  if (training && std::ranges::find(outputs, training->runs) == outputs.end()) {
    outputs.push_back(training->runs);
  }
  for (const std::string& output : outputs) {
    if (output.starts_with('/') || output.starts_with("..")) {
      return fail(ErrorKind::Usage,
                  fmt::format("'{}' is outside of the folder that the job runs in", output),
                  "HTCondor brings home what lies in the job's own folder: give job.outputs and "
                  "track.dir as relative paths");
    }
  }
  return outputs;
}

}  // namespace kedge::jobs::condor
