#include "use/internal/prompt_file.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kedge::use {
namespace {

using nlohmann::json;

Result<Prompt> read_record(const std::string& row, std::string id, const std::string& place) {
  const auto record = data::ChatJson::parse(row, nullptr, /*allow_exceptions=*/false);
  const bool has_text = record.is_object() && record.contains("prompt");
  const bool has_messages = record.is_object() && record.contains("messages");
  if (has_text == has_messages || (has_text && !record["prompt"].is_string()) ||
      (has_messages && !record["messages"].is_array())) {
    return fail(ErrorKind::Usage, fmt::format("{}: a record needs \"prompt\", a text, or "
                                              "\"messages\", a conversation",
                                              place));
  }
  Prompt prompt{.id = std::move(id)};
  if (has_text) {
    prompt.text = record["prompt"].get<std::string>();
  } else {
    prompt.messages = record["messages"];
  }
  if (record.contains("id")) {
    prompt.id = record["id"].is_string() ? record["id"].get<std::string>() : record["id"].dump();
  }
  return prompt;
}

}  // namespace

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
    const std::string id = std::to_string(line);
    prompts.push_back(
        path.extension() == ".jsonl"
            ? KEDGE_TRY(read_record(row, id, fmt::format("{}:{}", path.string(), line)))
            : Prompt{.id = id, .text = row});
  }
  return prompts;
}

Result<std::set<std::string>> read_answered(const Path& output) {
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

}  // namespace kedge::use
