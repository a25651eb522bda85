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

class Stream {
 public:
  Stream(const Call& call, store::RunKey key)
      : call_(call), key_(std::move(key)), now_us_(call.now_us()) {}

  Result<void> take(const json& body) {
    const auto files = body.find("files");
    if (files != body.end() && files->is_object()) {
      KEDGE_TRY(take_files(*files));
    } else {
      KEDGE_TRY(call_.api.store.heartbeat(key_, now_us_));
    }
    return take_end(body);
  }

 private:
  Result<void> take_files(const json& files) {
    // History goes first: the summary is compared with what it comes to.
    if (const auto history = files.find("wandb-history.jsonl"); history != files.end()) {
      KEDGE_TRY(take_rows(KEDGE_TRY(parse_lines(*history)), store::RowStream::History));
    }
    if (const auto events = files.find("wandb-events.jsonl"); events != files.end()) {
      KEDGE_TRY(take_rows(KEDGE_TRY(parse_lines(*events)), store::RowStream::Events));
    }
    if (const auto summary = files.find("wandb-summary.json"); summary != files.end()) {
      KEDGE_TRY(take_summary(KEDGE_TRY(parse_lines(*summary))));
    }
    if (const auto console = files.find("output.log"); console != files.end()) {
      KEDGE_TRY(take_console(KEDGE_TRY(parse_lines(*console))));
    }
    return {};
  }

  Result<void> take_rows(Lines lines, store::RowStream stream) {
    store::RowBatch batch{.stream = stream, .from = lines.offset};
    for (std::string& line : lines.content) {
      const auto number = static_cast<std::int64_t>(lines.offset + batch.rows.size());
      batch.rows.push_back(KEDGE_TRY(stream == store::RowStream::History
                                         ? parse_history(std::move(line), number, now_us_)
                                         : parse_event(std::move(line), now_us_)));
    }
    KEDGE_TRY(call_.transcript().put_rows(key_, batch, now_us_));
    return {};
  }

  Result<void> take_summary(const Lines& lines) {
    if (lines.content.empty()) {
      return {};
    }
    const json said = KEDGE_TRY(parse_lenient(lines.content.back()));
    if (!said.is_object()) {
      return fail(ErrorKind::Usage, "a summary is a JSON object");
    }
    KEDGE_TRY(call_.transcript().put_document(key_, kSummaryDocument, lines.content.back()));
    const store::Run run = KEDGE_TRY(call_.api.store.find_run(key_));
    if (json patch = make_summary_patch(run, said); !patch.empty()) {
      KEDGE_TRY(call_.api.store.patch_run(key_, {.summary = std::move(patch)}, now_us_));
    }
    return {};
  }

  Result<void> take_console(const Lines& lines) {
    std::vector<store::ConsoleLine> console;
    for (const std::string& line : lines.content) {
      console.push_back(parse_console_line(line, now_us_));
    }
    return call_.transcript().put_console(key_, lines.offset, console, now_us_);
  }

  Result<void> take_end(const json& body) {
    if (body.value("preempting", json()) == true) {
      KEDGE_TRY(call_.api.store.patch_run(key_, {.state = store::RunState::Preempted}, now_us_));
    }
    if (body.value("complete", json()) != true) {
      return {};
    }
    const json code = body.value("exitcode", json());
    const std::int64_t exit = code.is_number_integer() ? code.get<std::int64_t>() : 0;
    KEDGE_TRY(call_.transcript().put_document(key_, kExitDocument, std::to_string(exit)));
    const auto state = exit == 0 ? store::RunState::Finished : store::RunState::Failed;
    KEDGE_TRY(call_.api.store.patch_run(key_, {.state = state}, now_us_));
    return {};
  }

  const Call& call_;
  store::RunKey key_;
  std::int64_t now_us_;
};

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

Result<server::Response> take_stream(const Call& call) {
  const server::Request& request = call.request;
  const store::RunKey key{request.parameter("project"), request.parameter("run")};
  KEDGE_TRY(call.check(key.project, key.id));
  const json body =
      request.body.empty() ? json::object() : KEDGE_TRY(server::parse_object(request));
  KEDGE_TRY(Stream(call, key).take(body));
  const auto stop = KEDGE_TRY(call.transcript().find_document(key, kStopDocument));
  json answer = {{"exitcode", nullptr}, {"limits", json::object()}};
  if (stop && *stop == "1") {
    answer["stopped"] = true;
  }
  return server::json_response(answer.dump());
}

}  // namespace kedge::wandb
