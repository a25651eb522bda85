// The rows of runs: facts, documents, attempts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "store/internal/database.h"
#include "store/run.h"
#include "store/series.h"

namespace kedge::store {

// Returns the number of the new row. `project` is the number of the project's.
Result<std::int64_t> insert_run(Database& database, std::int64_t project, const RunFacts& facts);
Result<void> update_run(Database& database, std::int64_t row, const RunFacts& facts);

// As they stand in the database, while a row is visited.
struct RunTexts {
  std::string_view config;
  std::string_view summary;  // only what was set by hand
  std::string_view labels;
};

enum class Document : std::uint8_t { Config, Summary, Labels, Environment };

// The text as it stands there; not called when there is no such run.
Result<void> visit_document(Database& database, std::int64_t row, Document document,
                            const std::function<Result<void>(std::string_view text)>& visit);

Result<nlohmann::json> read_document(Database& database, std::int64_t row, Document document);

Result<void> write_document(Database& database, std::int64_t row, Document document,
                            const nlohmann::json& json);

using RunVisitor =
    std::function<Result<void>(std::int64_t row, RunFacts facts, const RunTexts& texts)>;

// All runs, in order of their numbers.
Result<void> read_runs(Database& database, const RunVisitor& visit);

// That run, if there is one.
Result<void> read_run(Database& database, const RunKey& key, const RunVisitor& visit);

// (path, size, digest)
RunFile read_file_row(const SqlRow& row);

Result<std::vector<Attempt>> read_attempts(Database& database, std::int64_t run);

// Clients of other tools end runs, not attempts: one that nobody has ended is in the state of its
// run, or was interrupted when another attempt came after it.
void settle_attempts(std::vector<Attempt>& attempts, const RunFacts& facts);
// from_step stays what it is when it is not given.
Result<void> write_attempt(Database& database, std::int64_t run, const Attempt& attempt);

}  // namespace kedge::store
