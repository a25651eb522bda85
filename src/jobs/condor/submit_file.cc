#include "jobs/condor/submit_file.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kedge::jobs::condor {
namespace {

constexpr auto kOwnMacros = std::to_array<std::string_view>(
    {"Cluster", "ClusterId", "CLUSTERID", "Process", "ProcId", "Item", "ItemIndex", "Row", "Step"});

std::unexpected<Error> cannot_say(std::string_view key, std::string_view value,
                                  std::string_view why) {
  return fail(ErrorKind::Usage,
              fmt::format("an HTCondor submit file cannot say {} = {}: {}", key, value, why));
}

class Writer {
 public:
  explicit Writer(const SubmitFile& file) : file_(file) {}

  Result<std::string> render();

 private:
  Result<void> write_program();
  Result<void> write_files();
  void write_requests();
  void write_gpu_expressions();
  void write_requirements();
  void write_site();
  void write_rules();
  Result<void> write_queue();
  Result<void> write_rows();

  // Only the macros that this file declares are expanded: every other dollar sign is text.
  std::string escaped(std::string_view text) const;
  bool is_macro(std::string_view name) const;
  Result<void> add_text(std::string_view key, std::string_view value);
  Result<void> add_list(std::string_view key, const std::vector<std::string>& values);

  void add(std::string_view key, std::string_view value) {
    text_ += fmt::format("{} = {}\n", key, value);
  }

  void add_request(std::string_view key, std::string_view macro, const std::string& value) {
    add(key, file_.requests.can_be_overridden ? fmt::format("$({}:{})", macro, value) : value);
  }

  void add_if(std::string_view key, bool value) {
    if (value) {
      add(key, "true");
    }
  }

  void add_choice(std::string_view key, std::optional<bool> value) {
    if (value) {
      add(key, *value ? "true" : "false");
    }
  }

  void begin_part() {
    if (!text_.empty() && !text_.ends_with("\n\n")) {
      text_ += "\n";
    }
  }

  const SubmitFile& file_;
  std::string text_;
};

bool Writer::is_macro(std::string_view name) const {
  return std::ranges::find(kOwnMacros, name) != kOwnMacros.end() ||
         std::ranges::find(file_.queue.variables, name) != file_.queue.variables.end();
}

std::string Writer::escaped(std::string_view text) const {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '$') {
      result += text[at];
      continue;
    }
    const std::size_t end = text.find(')', at);
    const bool is_ours = text.substr(at + 1, 1) == "(" && end != std::string_view::npos &&
                         is_macro(text.substr(at + 2, end - at - 2));
    if (is_ours) {
      result += text.substr(at, end - at + 1);
      at = end;
    } else {
      result += "$(DOLLAR)";
    }
  }
  return result;
}

Result<void> check_value(std::string_view key, std::string_view value) {
  if (value.find_first_of("\n\r") != std::string_view::npos) {
    return cannot_say(key, fmt::format("'{}...'", value.substr(0, value.find_first_of("\n\r"))),
                      "it holds a line break");
  }
  if (value.ends_with('\\')) {
    return cannot_say(key, value, "a backslash at its end goes on with the next line");
  }
  // The job's machine would expand it, however it is written here.
  if (value.find("$$(") != std::string_view::npos) {
    return cannot_say(key, value, "$$( is expanded when the job has found its machine");
  }
  return {};
}

Result<void> Writer::add_text(std::string_view key, std::string_view value) {
  KEDGE_TRY(check_value(key, value));
  add(key, escaped(value));
  return {};
}

Result<void> Writer::add_list(std::string_view key, const std::vector<std::string>& values) {
  if (values.empty()) {
    return {};
  }
  for (const std::string& value : values) {
    if (value.empty() || value.front() == ' ' || value.back() == ' ' ||
        value.find_first_of(",\"") != std::string::npos) {
      return cannot_say(key, fmt::format("'{}'", value),
                        "a name with a comma, a quote or a space at its ends breaks the list");
    }
  }
  return add_text(key, fmt::format("{}", fmt::join(values, ", ")));
}

// One word of the quoted form that `arguments` and `environment` share.
std::string quoted_word(std::string_view word) {
  std::string result;
  for (const char c : word) {
    result += c == '\'' || c == '"' ? std::string(2, c) : std::string(1, c);
  }
  const bool needs_quotes = word.empty() || word.find_first_of(" \t'") != std::string_view::npos;
  return needs_quotes ? "'" + result + "'" : result;
}

Result<void> Writer::write_program() {
  switch (file_.universe) {
    case Universe::Vanilla:
      add("universe", "vanilla");
      break;
    case Universe::Parallel:
      add("universe", "parallel");
      add("machine_count", fmt::to_string(file_.machines));
      add("+ParallelShutdownPolicy", class_ad_string("WAIT_FOR_ALL"));
      break;
    case Universe::Container:
      add("universe", "container");
      KEDGE_TRY(add_text("container_image", file_.image));
      break;
    case Universe::Docker:
      add("universe", "docker");
      KEDGE_TRY(add_text("docker_image", file_.image));
      if (!file_.docker_network.empty()) {
        KEDGE_TRY(add_text("docker_network_type", file_.docker_network));
      }
      break;
  }
  KEDGE_TRY(add_text("executable", file_.executable));
  // With an image HTCondor takes an absolute path for one inside it, unless it is told.
  if (!file_.transfers_executable || file_.universe != Universe::Vanilla) {
    add("transfer_executable", file_.transfers_executable ? "true" : "false");
  }
  if (!file_.arguments.empty()) {
    std::vector<std::string> words;
    std::ranges::transform(file_.arguments, std::back_inserter(words), quoted_word);
    KEDGE_TRY(add_text("arguments", fmt::format("\"{}\"", fmt::join(words, " "))));
  }
  if (!file_.environment.empty()) {
    std::vector<std::string> words;
    for (const auto& [name, value] : file_.environment) {
      // name='a value': the quotes belong around the value or the whole word alike.
      words.push_back(quoted_word(name + "=" + value));
    }
    KEDGE_TRY(add_text("environment", fmt::format("\"{}\"", fmt::join(words, " "))));
  }
  return {};
}

Result<void> Writer::write_files() {
  begin_part();
  const auto add_path = [&](std::string_view key, const std::string& path) -> Result<void> {
    return path.empty() ? Result<void>() : add_text(key, path);
  };
  KEDGE_TRY(add_path("initialdir", file_.initial_folder));
  KEDGE_TRY(add_path("output", file_.output));
  KEDGE_TRY(add_path("error", file_.error));
  KEDGE_TRY(add_path("log", file_.log));
  add_if("stream_output", file_.streams_output);
  add_if("stream_error", file_.streams_error);
  KEDGE_TRY(add_path("batch_name", file_.batch_name));
  KEDGE_TRY(add_path("accounting_group", file_.accounting_group));

  begin_part();
  const Transfer& transfer = file_.transfer;
  if (!transfer.is_needed) {
    add("should_transfer_files", "NO");
    return {};
  }
  add("should_transfer_files", "YES");
  add("when_to_transfer_output", transfer.also_when_evicted ? "ON_EXIT_OR_EVICT" : "ON_EXIT");
  KEDGE_TRY(add_list("transfer_input_files", transfer.inputs));
  KEDGE_TRY(add_list("encrypt_input_files", transfer.encrypted));
  KEDGE_TRY(add_list("transfer_output_files", transfer.outputs));
  if (!transfer.output_names.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [from, to] : transfer.output_names) {
      if ((from + to).find_first_of(";=\"") != std::string::npos) {
        return cannot_say("transfer_output_remaps", from + "=" + to, "; = and \" separate names");
      }
      pairs.push_back(from + " = " + to);
    }
    KEDGE_TRY(add_text("transfer_output_remaps", fmt::format("\"{}\"", fmt::join(pairs, "; "))));
  }
  if (file_.checkpoint_exit_code) {
    add("checkpoint_exit_code", fmt::to_string(*file_.checkpoint_exit_code));
    KEDGE_TRY(add_list("transfer_checkpoint_files", transfer.checkpoint_files));
  }
  return {};
}

void Writer::write_requests() {
  begin_part();
  const Requests& requests = file_.requests;
  add_request("request_cpus", "cpus", fmt::to_string(requests.cpus));
  if (requests.memory_mb > 0) {
    add_request("request_memory", "memory", fmt::format("{}MB", requests.memory_mb));
  }
  if (requests.disk_mb > 0) {
    add_request("request_disk", "disk", fmt::format("{}MB", requests.disk_mb));
  }
  if (requests.gpus == 0) {
    return;
  }
  add_request("request_gpus", "gpus", fmt::to_string(requests.gpus));
  if (file_.gpu.least_capability) {
    add("gpus_minimum_capability", render_capability(*file_.gpu.least_capability));
  }
  if (file_.gpu.most_capability) {
    add("gpus_maximum_capability", render_capability(*file_.gpu.most_capability));
  }
  if (file_.gpu.memory_mb > 0) {
    add("gpus_minimum_memory", fmt::to_string(file_.gpu.memory_mb));
  }
  write_gpu_expressions();
}

// Where require_gpus names a property itself, condor_submit leaves out its own limit of it.
void Writer::write_gpu_expressions() {
  const GpuRequirements& gpu = file_.gpu;
  if (gpu.expressions.empty()) {
    return;
  }
  const auto names = [&](std::string_view property) {
    return std::ranges::any_of(gpu.expressions, [&](const std::string& expression) {
      return expression.find(property) != std::string::npos;
    });
  };
  std::vector<std::string> all = gpu.expressions;
  if (names("Capability") && gpu.least_capability) {
    all.push_back("Capability >= " + render_capability(*gpu.least_capability));
  }
  if (names("Capability") && gpu.most_capability) {
    all.push_back("Capability <= " + render_capability(*gpu.most_capability));
  }
  if (names("GlobalMemoryMb") && gpu.memory_mb > 0) {
    all.push_back(fmt::format("GlobalMemoryMb >= {}", gpu.memory_mb));
  }
  add("require_gpus", fmt::format("({})", fmt::join(all, ") && (")));
}

void Writer::write_requirements() {
  if (!file_.requirements.empty()) {
    add("requirements", fmt::format("({})", fmt::join(file_.requirements, ") && (")));
  }
}

void Writer::write_site() {
  const SiteFlags& site = file_.site;
  add_if("+WantGPULab", site.wants_gpu_lab);
  if (!site.gpu_job_length.empty()) {
    add("+GPUJobLength", class_ad_string(site.gpu_job_length));
  }
  // CHTC's pages write it in both ways, and a pool's policy reads only one of them.
  add_if("+is_resumable", site.is_resumable);
  add_if("+IsResumable", site.is_resumable);
  add_choice("+WantFlocking", site.wants_flocking);
  add_choice("+WantGlidein", site.wants_glidein);
  add_choice("want_campus_pools", site.wants_campus_pools);
  add_choice("want_ospool", site.wants_ospool);
  for (const auto& [name, expression] : file_.attributes) {
    add("+" + name, expression);
  }
  for (const std::string& line : file_.lines) {
    text_ += line + "\n";
  }
}

void Writer::write_rules() {
  const auto add_number = [&](std::string_view key, std::int64_t value) {
    if (value > 0) {
      add(key, fmt::to_string(value));
    }
  };
  add_number("max_retries", file_.max_retries);
  add_number("max_materialize", file_.max_materialize);
  add_number("allowed_execute_duration", file_.allowed_execute_s);
  add_number("allowed_job_duration", file_.allowed_job_s);
  add_number("job_max_vacate_time", file_.max_vacate_s);
  if (!file_.on_exit_remove.empty()) {
    add("on_exit_remove", file_.on_exit_remove);
  }
  if (!file_.periodic_remove.empty()) {
    add("periodic_remove", file_.periodic_remove);
  }
}

// A row is cut at commas and white space; only the last variable takes the rest of it.
Result<void> Writer::write_rows() {
  for (const auto& row : file_.queue.rows) {
    KEDGE_CHECK(row.size() == file_.queue.variables.size(), "a row has a value per variable");
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_last = i + 1 == row.size();
      if (row[i].empty() || row[i].find_first_of(is_last ? "\n\r" : "\n\r\t ,") != row[i].npos ||
          row[i].front() == ' ' || row[i].back() == ' ') {
        return cannot_say("queue " + file_.queue.variables[i], fmt::format("'{}'", row[i]),
                          "white space and commas separate values");
      }
    }
    text_ += fmt::format("  {}\n", fmt::join(row, ", "));
  }
  return {};
}

Result<void> Writer::write_queue() {
  begin_part();
  const Queue& queue = file_.queue;
  const std::string count = queue.count == 1 ? "" : fmt::format(" {}", queue.count);
  const std::string names = fmt::format("{}", fmt::join(queue.variables, ","));
  switch (queue.kind) {
    case QueueKind::Count:
      text_ += fmt::format("queue{}\n", count);
      return {};
    case QueueKind::FromFile:
      text_ += fmt::format("queue{} {} from {}\n", count, names, queue.file);
      return {};
    case QueueKind::In:
    case QueueKind::Matching:
      text_ += fmt::format("queue{} {} {} (\n", count, names,
                           queue.kind == QueueKind::In ? "in" : "matching files");
      for (const std::string& item : queue.items) {
        KEDGE_TRY(check_value("queue", item));
        text_ += fmt::format("  {}\n", item);
      }
      text_ += ")\n";
      return {};
    case QueueKind::FromRows:
      text_ += fmt::format("queue{} {} from (\n", count, names);
      KEDGE_TRY(write_rows());
      text_ += ")\n";
      return {};
  }
  return {};
}

Result<std::string> Writer::render() {
  if (!file_.comment.empty()) {
    text_ += fmt::format("# {}\n", file_.comment);
  }
  KEDGE_TRY(write_program());
  KEDGE_TRY(write_files());
  write_requests();
  write_requirements();
  begin_part();
  write_rules();
  write_site();
  KEDGE_TRY(write_queue());
  return std::move(text_);
}

}  // namespace

std::string class_ad_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
    }
    result += c;
  }
  return result + "\"";
}

Result<std::string> render(const SubmitFile& file) {
  return Writer(file).render();
}

}  // namespace kedge::jobs::condor
