// What wandb clients send besides GraphQL: 'h' first, a line of the history; 'e', of the system
// events; 'c', of the console; 'i', an id; 'f', a filter; 'o', an order; anything else, JSON inside
// of a text.
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/result.h"
#include "input_file.h"
#include "server/api.h"
#include "wandb/internal/encoding.h"
#include "wandb/internal/history_row.h"
#include "wandb/internal/lenient_json.h"
#include "wandb/internal/run_filter.h"
#include "wandb/internal/stream.h"

namespace {

using namespace kedge;
using namespace kedge::wandb;

constexpr std::int64_t kNow_us = 1'794'700'800'000'000;

void read_id(std::string_view input) {
  if (const auto run = parse_run_id(input)) {
    const auto again = parse_run_id(render_id(*run));
    KEDGE_CHECK(again && again->key.id == run->key.id && again->key.project == run->key.project,
                "an id comes back");
  }
  (void)parse_id("Project", input);
  (void)parse_time(input);
}

void read_json(std::string_view input) {
  if (const auto json = parse_lenient(input)) {
    KEDGE_CHECK(parse_lenient(render_lenient(*json)).has_value(), "what was read can be written");
    (void)make_strict(*json).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
}

void filter_runs(std::string_view input) {
  if (const auto json = server::parse_json(input)) {
    (void)translate_filter(*json);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = as_text(data, size);
  const char mode = input.empty() ? ' ' : input[0];
  const std::string_view rest = input.substr(input.empty() ? 0 : 1);
  if (mode == 'h') {
    (void)parse_history(std::string(rest), 7, kNow_us);
  } else if (mode == 'e') {
    (void)parse_event(std::string(rest), kNow_us);
  } else if (mode == 'c') {
    (void)parse_console_line(std::string(rest), kNow_us);
  } else if (mode == 'i') {
    read_id(rest);
  } else if (mode == 'f') {
    filter_runs(rest);
  } else if (mode == 'o') {
    (void)translate_order(rest);
  } else {
    read_json(input);
  }
  return 0;
}
