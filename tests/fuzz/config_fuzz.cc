// load_config on any text: the file, then behind zero bytes sweep values and overrides. What loads
// is rendered, and must load again as the same.
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "config/load.h"
#include "config/render.h"
#include "core/result.h"
#include "input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kedge;
  std::string_view input = as_text(data, size);
  config::LoadOptions options;
  options.text = take_until_zero(input);
  options.sweep_values = take_until_zero(input);
  if (options.sweep_values.starts_with('@')) {
    return 0;  // names a file: the fuzzer must not read devices
  }
  while (!input.empty()) {
    options.overrides.emplace_back(take_until_zero(input));
  }
  if (const auto loaded = config::load_config(options)) {
    const std::string text = config::render_effective(*loaded);
    const auto again = config::load_config({.text = text});
    KEDGE_CHECK(again.has_value(), "what was loaded loads again");
    KEDGE_CHECK(config::render_effective(*again) == text, "as the same");
    (void)config::render_json(*loaded).dump(-1, ' ', false,
                                            nlohmann::json::error_handler_t::replace);
  }
  return 0;
}
