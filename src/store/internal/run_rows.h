// The rows of runs: facts, documents, attempts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/result.h"
#include "store/database.h"
#include "store/run.h"

namespace kedge::store {

// Returns the number of the new row. `project` is the number of the project's.
Result<std::int64_t> insert_run(Database& database, std::int64_t project, const RunFacts& facts);
Result<void> update_run(Database& database, std::int64_t row, const RunFacts& facts);

struct RunDocuments {
  nlohmann::json config = nlohmann::json::object();
  nlohmann::json summary = nlohmann::json::object();  // only what was set by hand
  nlohmann::json labels = nlohmann::json::object();
};

enum class Document : std::uint8_t { Config, Summary, Labels, Environment };

Result<nlohmann::json> read_document(Database& database, std::int64_t row, Document document);

Result<void> write_document(Database& database, std::int64_t row, Document document,
                            const nlohmann::json& json);

using RunVisitor =
    std::function<Result<void>(std::int64_t row, RunFacts facts, const RunDocuments& documents)>;

// All runs, in order of their numbers.
Result<void> read_runs(Database& database, const RunVisitor& visit);

// That run, if there is one.
Result<void> read_run(Database& database, const RunKey& key, const RunVisitor& visit);

Result<std::vector<Attempt>> read_attempts(Database& database, std::int64_t run);

// from_step stays what it is when it is not given.
Result<void> write_attempt(Database& database, std::int64_t run, const Attempt& attempt);

}  // namespace kedge::store
