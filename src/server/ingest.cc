#include "server/ingest.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/result.h"
#include "store/run.h"
#include "store/store.h"

namespace kedge::server {
namespace {

std::vector<store::Attempt> attempts_of(const nlohmann::json& facts) {
  std::vector<store::Attempt> attempts;
  for (const nlohmann::json& json : facts.value("attempts", nlohmann::json::array())) {
    store::Attempt& attempt = attempts.emplace_back();
    attempt.number = json.at("number");
    attempt.host = json.value("host", "");
    attempt.started_us = json.value("started_us", std::int64_t{0});
    attempt.ended_us = json.value("ended_us", std::int64_t{0});
    attempt.state = json.value("state", "");
    if (json.contains("from_step")) {
      attempt.from_step = json["from_step"].get<std::int64_t>();
    }
    attempt.changes = json.value("changes", nlohmann::json::array());
  }
  return attempts;
}

}  // namespace

Result<store::Run> take_facts(store::Store& store, const store::RunKey& run, nlohmann::json facts,
                              std::int64_t now_us) {
  const auto attempts = attempts_of(facts);
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
