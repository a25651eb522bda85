#include "wandb/internal/stream.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "wandb/internal/encoding.h"
#include "wandb/internal/history_row.h"
#include "wandb/internal/lenient_json.h"
#include "wandb/internal/run_words.h"

namespace kedge::wandb {
namespace {

using nlohmann::json;

// The lines that a request has of one file.
struct Lines {
  std::uint64_t offset = 0;
  std::vector<std::string> content;
};

Result<Lines> parse_lines(const json& file) {
  Lines lines;
  const auto offset = file.is_object() ? file.find("offset") : file.end();
  const auto content = file.is_object() ? file.find("content") : file.end();
  if (!file.is_object() || content == file.end() || !content->is_array()) {
    return fail(ErrorKind::Usage, "a file of file_stream has an offset and a list of lines");
  }
  if (offset != file.end() && offset->is_number_unsigned()) {
    lines.offset = offset->get<std::uint64_t>();
  }
  for (const json& line : *content) {
    if (!line.is_string()) {
      return fail(ErrorKind::Usage, "a line of file_stream is a text");
    }
    lines.content.push_back(line.get<std::string>());
  }
  return lines;
}

// What a request says, parsed: the writer's thread has other things to do.
struct StreamBody {
  std::vector<store::RowBatch> rows;
  std::optional<std::string> summary;
  std::uint64_t console_from = 0;
  std::vector<store::ConsoleLine> console;
  std::optional<store::RunState> state;
  std::optional<std::int64_t> exit;
};

Result<store::RowBatch> parse_rows(Lines lines, store::RowStream stream, std::int64_t now_us) {
  store::RowBatch batch{.stream = stream, .from = lines.offset};
  for (std::string& line : lines.content) {
    const auto number = static_cast<std::int64_t>(lines.offset + batch.rows.size());
    batch.rows.push_back(KEDGE_TRY(stream == store::RowStream::History
                                       ? parse_history(std::move(line), number, now_us)
                                       : parse_event(std::move(line), now_us)));
  }
  return batch;
}

Result<void> parse_files(const json& files, std::int64_t now_us, StreamBody& body) {
  // History goes first: the summary is compared with what it comes to.
  for (const auto& [name, stream] : {std::pair("wandb-history.jsonl", store::RowStream::History),
                                     std::pair("wandb-events.jsonl", store::RowStream::Events)}) {
    if (const auto rows = files.find(name); rows != files.end()) {
      body.rows.push_back(KEDGE_TRY(parse_rows(KEDGE_TRY(parse_lines(*rows)), stream, now_us)));
    }
  }
  if (const auto summary = files.find("wandb-summary.json"); summary != files.end()) {
    Lines lines = KEDGE_TRY(parse_lines(*summary));
    if (!lines.content.empty()) {
      body.summary = std::move(lines.content.back());
    }
  }
  if (const auto console = files.find("output.log"); console != files.end()) {
    const Lines lines = KEDGE_TRY(parse_lines(*console));
    body.console_from = lines.offset;
    for (const std::string& line : lines.content) {
      body.console.push_back(parse_console_line(line, now_us));
    }
  }
  return {};
}

Result<StreamBody> parse_body(const json& json_body, std::int64_t now_us) {
  StreamBody body;
  if (const auto files = json_body.find("files"); files != json_body.end() && files->is_object()) {
    KEDGE_TRY(parse_files(*files, now_us, body));
  }
  if (json_body.value("preempting", json()) == true) {
    body.state = store::RunState::Preempted;
  }
  if (json_body.value("complete", json()) == true) {
    const json code = json_body.value("exitcode", json());
    body.exit = code.is_number_integer() ? code.get<std::int64_t>() : 0;
    body.state = *body.exit == 0 ? store::RunState::Finished : store::RunState::Failed;
  }
  return body;
}

Result<void> take_summary(store::TranscriptChange& change, const std::string& text,
                          const json& said) {
  KEDGE_TRY(change.put_document(kSummaryDocument, text));
  return change.edit([&](const store::Run& run) -> Result<store::RunPatch> {
    json patch = make_summary_patch(run, said);
    return patch.empty() ? store::RunPatch() : store::RunPatch{.summary = std::move(patch)};
  });
}

// One transaction, so that a client whose request was cut off by a crash sends all of it again.
Result<void> take_body(const Call& call, const store::RunKey& key, const json& json_body) {
  const std::int64_t now_us = call.now_us();
  const StreamBody body = KEDGE_TRY(parse_body(json_body, now_us));
  const json said = body.summary ? KEDGE_TRY(parse_lenient(*body.summary)) : json::object();
  if (!said.is_object()) {
    return fail(ErrorKind::Usage, "a summary is a JSON object");
  }
  return call.transcript().change(
      key, now_us, [&](store::TranscriptChange& change) -> Result<void> {
        change.note_life();
        for (const store::RowBatch& batch : body.rows) {
          KEDGE_TRY(change.put_rows(batch));
        }
        if (body.summary) {
          KEDGE_TRY(take_summary(change, *body.summary, said));
        }
        if (!body.console.empty()) {
          KEDGE_TRY(change.put_console(body.console_from, body.console));
        }
        if (body.exit) {
          KEDGE_TRY(change.put_document(kExitDocument, std::to_string(*body.exit)));
        }
        if (body.state) {
          KEDGE_TRY(change.edit([&](const store::Run&) -> Result<store::RunPatch> {
            return store::RunPatch{.state = *body.state};
          }));
        }
        return {};
      });
}

// "2026-11-15T02:23:22.835188 text", with "ERROR " before it for stderr.
store::ConsoleLine parse_plain_line(std::string_view line, std::int64_t now_us) {
  constexpr std::string_view kError = "ERROR ";
  store::ConsoleLine parsed{.time_us = now_us, .text = std::string(line)};
  if (line.starts_with(kError)) {
    line.remove_prefix(kError.size());
    parsed.is_error = true;
  }
  const auto space = std::min(line.find(' '), line.size());
  constexpr std::size_t kTimeBytes = 19;
  const auto time = space >= kTimeBytes ? parse_time(line.substr(0, space)) : std::nullopt;
  if (!time) {
    parsed.is_error = false;
    return parsed;
  }
  parsed.time_us = *time;
  parsed.text = line.substr(std::min(space + 1, line.size()));
  return parsed;
}

}  // namespace

store::ConsoleLine parse_console_line(const std::string& line, std::int64_t now_us) {
  const json parsed = line.starts_with('{') ? json::parse(line, nullptr, false) : json();
  const auto content = parsed.is_object() ? parsed.find("content") : parsed.end();
  if (!parsed.is_object() || content == parsed.end() || !content->is_string()) {
    store::ConsoleLine plain = parse_plain_line(line, now_us);
    while (plain.text.ends_with('\n')) {
      plain.text.pop_back();
    }
    return plain;
  }
  const auto text_of = [&](const char* name) {
    const auto found = parsed.find(name);
    return found != parsed.end() && found->is_string() ? found->get<std::string>() : "";
  };
  std::string text = content->get<std::string>();
  while (text.ends_with('\n')) {
    text.pop_back();
  }
  const std::string label = text_of("label");
  return {.time_us = parse_time(text_of("ts")).value_or(now_us),
          .text = label.empty() ? std::move(text) : fmt::format("[{}] {}", label, text),
          .is_error = text_of("level") == "error"};
}

Result<http::Response> take_stream(const Call& call) {
  const http::Request& request = call.request;
  const store::RunKey key{request.parameter("project"), request.parameter("run")};
  KEDGE_TRY(call.check(key.project, key.id));
  const json body =
      request.body.empty() ? json::object() : KEDGE_TRY(server::parse_object(request));
  KEDGE_TRY(take_body(call, key, body));
  const auto stop = KEDGE_TRY(call.transcript().find_document(key, kStopDocument));
  json answer = {{"exitcode", nullptr}, {"limits", json::object()}};
  if (stop && *stop == "1") {
    answer["stopped"] = true;
  }
  return http::json_response(answer.dump());
}

}  // namespace kedge::wandb
