// parse_log, which reads the hottest bodies by hand, beside the JSON parser of all others.
#include <cstdint>

#include <nlohmann/json.hpp>

#include "core/result.h"
#include "input_file.h"
#include "server/api.h"
#include "server/log_body.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kedge;
  const auto input = as_text(data, size);
  const auto json = server::parse_json(input);
  const auto points = server::parse_log(input);
  if (points) {
    KEDGE_CHECK(json.has_value() && json->is_object(), "what is taken is a JSON object");
  } else {
    KEDGE_CHECK(!points.error().message.empty(), "what is wrong is told");
  }
  return 0;
}
