// The facts of a run under the names that the API gives them, once for documents and for texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/run.h"

namespace kedge::store {

// `put` takes a name with a text, a whole number, a list of texts, or an optional number.
template <typename Put>
void visit_facts(const RunFacts& facts, const Put& put) {
  const auto time = [](std::int64_t us) {
    return us == 0 ? std::nullopt : std::optional<std::int64_t>(us);
  };
  put("project", std::string_view(facts.project));
  put("id", std::string_view(facts.id));
  put("name", std::string_view(facts.name));
  put("state", name_of(facts.state));
  put("created_us", facts.created_us);
  put("ended_us", time(facts.ended_us));
  put("heartbeat_us", facts.heartbeat_us);
  put("user", std::string_view(facts.user));
  put("host", std::string_view(facts.host));
  put("group", std::string_view(facts.group));
  put("job_type", std::string_view(facts.job_type));
  put("notes", std::string_view(facts.notes));
  put("tags", facts.tags);
  put("source", std::string_view(facts.source));
  put("attempt", std::int64_t{facts.attempt});
  put("last_step", facts.last_step);
  put("parent", std::string_view(facts.parent));
  put("sweep", std::string_view(facts.sweep));
  put("deleted_us", time(facts.deleted_us));
}

}  // namespace kedge::store
