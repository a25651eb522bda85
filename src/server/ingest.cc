#include "server/ingest.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/result.h"
#include "store/run.h"
#include "store/store.h"

namespace kedge::server {
namespace {

std::unexpected<Error> wrong(const char* field, const char* expected) {
  return fail(ErrorKind::Usage, fmt::format("an attempt's '{}' must be {}", field, expected));
}

Result<std::string> text_of(const nlohmann::json& json, const char* field) {
  const auto found = json.find(field);
  if (found != json.end() && !found->is_string()) {
    return wrong(field, "a text");
  }
  return found == json.end() ? std::string() : found->get<std::string>();
}

Result<std::optional<std::int64_t>> integer_of(const nlohmann::json& json, const char* field) {
  const auto found = json.find(field);
  if (found == json.end() || found->is_null()) {
    return std::nullopt;
  }
  if (!found->is_number_integer()) {
    return wrong(field, "a whole number");
  }
  return found->get<std::int64_t>();
}

Result<store::Attempt> parse_attempt(const nlohmann::json& json) {
  if (!json.is_object()) {
    return fail(ErrorKind::Usage, "an attempt must be an object");
  }
  const std::int64_t number = KEDGE_TRY(integer_of(json, "number")).value_or(0);
  if (number < 1 || number > std::numeric_limits<int>::max()) {
    return fail(ErrorKind::Usage, "an attempt needs a number of at least 1");
  }
  store::Attempt attempt;
  attempt.number = static_cast<int>(number);
  attempt.host = KEDGE_TRY(text_of(json, "host"));
  attempt.started_us = KEDGE_TRY(integer_of(json, "started_us")).value_or(0);
  attempt.ended_us = KEDGE_TRY(integer_of(json, "ended_us")).value_or(0);
  attempt.state = KEDGE_TRY(text_of(json, "state"));
  attempt.from_step = KEDGE_TRY(integer_of(json, "from_step"));
  attempt.changes = json.value("changes", nlohmann::json::array());
  return attempt;
}

Result<std::vector<store::Attempt>> parse_attempts(const nlohmann::json& facts) {
  std::vector<store::Attempt> attempts;
  const auto list = facts.find("attempts");
  if (list != facts.end() && !list->is_array()) {
    return fail(ErrorKind::Usage, "'attempts' must be a list");
  }
  for (const nlohmann::json& json : list == facts.end() ? nlohmann::json::array() : *list) {
    attempts.push_back(KEDGE_TRY(parse_attempt(json)));
  }
  return attempts;
}

}  // namespace

Result<store::Run> take_facts(store::Store& store, const store::RunKey& run, nlohmann::json facts,
                              std::int64_t now_us) {
  const auto attempts = KEDGE_TRY(parse_attempts(facts));
  facts.erase("attempts");
  const store::RunPatch patch = KEDGE_TRY(store::parse_patch(facts));
  store::Run known = KEDGE_TRY(store.put_run(run, patch, now_us));
  if (!attempts.empty()) {
    KEDGE_TRY(store.put_attempts(run, attempts));
  }
  if (patch.state.value_or(store::RunState::Running) == store::RunState::Running) {
    KEDGE_TRY(store.heartbeat(run, now_us));
  }
  return known;
}

}  // namespace kedge::server
