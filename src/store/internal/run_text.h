// A run as the API shows it, written as text from what is in memory; render_run() is the same as a
// document.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/internal/run_entry.h"
#include "store/internal/run_index.h"

namespace kedge::store {

// What a search asked for, with the numbers of the names.
struct RunFields {
  std::vector<std::pair<std::string, KeyId>> config;
  std::vector<std::pair<std::string, KeyId>> summary;
  std::vector<std::pair<std::string, KeyId>> labels;
};

// Names that no run has are left out.
Result<RunFields> find_fields(const std::vector<std::string>& names, const RunIndex& index);

// The whole run; `config` is the text of its document.
void append_run(std::string& out, const RunEntry& entry, std::string_view config,
                const RunIndex& index);

// Only these fields of config, summary and labels, under their flat names.
void append_run(std::string& out, const RunEntry& entry, const RunFields& fields);

}  // namespace kedge::store
