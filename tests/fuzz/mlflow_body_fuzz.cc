// Bodies and parameters of MLflow's calls: 'p' first, a parameter's text, which must come back;
// 'i', an integer; anything else, a body, whose fields are asked for by every type.
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"
#include "input_file.h"
#include "mlflow/internal/fields.h"
#include "mlflow/internal/python_text.h"

namespace {

using namespace kedge;
using namespace kedge::mlflow;

void ask(const Fields& fields, int depth) {
  for (const char* name : {"run_id", "metrics"}) {
    (void)fields.find_text(name);
    (void)fields.find_integer(name);
    (void)fields.need_number(name);
    (void)fields.boolean(name, false);
    (void)fields.texts(name);
    (void)fields.key_values(name);
    if (const auto items = fields.items(name); items && depth < 3) {
      for (const Fields& item : *items) {
        ask(item, depth + 1);
      }
    }
    if (const auto object = fields.find_object(name); object && *object && depth < 3) {
      ask(**object, depth + 1);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = as_text(data, size);
  const char mode = input.empty() ? ' ' : input[0];
  if (mode == 'p') {
    const std::string_view text = input.substr(1);
    KEDGE_CHECK(render_param(parse_param(text)) == text, "a parameter comes back as it was");
  } else if (mode == 'i') {
    (void)parse_integer(input.substr(1));
  } else {
    http::Request request;
    request.method = http::Method::Post;
    request.body = input;
    if (const auto fields = Fields::read(request)) {
      ask(*fields, 0);
    }
  }
  return 0;
}
