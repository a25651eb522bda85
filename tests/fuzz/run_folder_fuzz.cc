// A run folder that `kedge server --watch` finds in other users' files: run.json, attempts/1.json,
// config.yaml and environment.json with zero bytes between.
#include <cstdint>
#include <fstream>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/result.h"
#include "core/scratch_folder.h"
#include "input_file.h"
#include "track/run_facts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kedge;
  static const ScratchFolder folder;
  static const bool is_made = make_dirs(folder / "attempts").has_value();
  KEDGE_CHECK(is_made, "fuzzers can make a folder");
  std::string_view input = as_text(data, size);
  for (const char* name : {"run.json", "attempts/1.json", "config.yaml", "environment.json"}) {
    std::ofstream(folder / name, std::ios::binary) << take_until_zero(input);
  }
  (void)track::read_run_name(folder.path());
  if (const auto facts = track::read_run_facts(folder.path())) {
    KEDGE_CHECK(facts->is_object(), "facts have names");
    (void)facts->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  return 0;
}
