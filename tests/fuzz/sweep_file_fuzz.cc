// Sweeps of any bytes: 'c' first, a table of trials; 'j', a sweep or a trial as a server sends it
// to an agent; anything else, a sweep file.
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/result.h"
#include "input_file.h"
#include "search/sweep_plan.h"
#include "sweep/sweep.h"
#include "sweep/trial_files.h"
#include "sweep/trial_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kedge;
  const std::string_view input = as_text(data, size);
  const char mode = input.empty() ? ' ' : input[0];
  if (mode == 'c') {
    (void)sweep::parse_trial_table(std::string(input.substr(1)), "input");
  } else if (mode == 'j') {
    const auto json = nlohmann::json::parse(input.substr(1), nullptr, false);
    (void)sweep::parse_facts(json, "input");
    (void)sweep::parse_trial(json);
  } else if (const auto plan = search::parse_sweep(std::string(input), "input")) {
    const auto runs = search::expected_runs(*plan);
    KEDGE_CHECK(!runs || *runs >= 0, "a number of runs is none below 0");
  }
  return 0;
}
