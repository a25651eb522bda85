// Any text as a GraphQL document, executed against a schema whose one type leads to itself.
#include <cstdint>
#include <memory>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/result.h"
#include "graphql/document.h"
#include "graphql/execute.h"
#include "graphql/schema.h"
#include "input_file.h"

namespace {

using namespace kedge;
using namespace kedge::graphql;

struct Anything {};

std::unique_ptr<Schema> make_schema() {
  auto made = std::make_unique<Schema>();
  Schema& schema = *made;
  for (const char* name : {"Query", "Mutation"}) {
    TypeBuilder<Anything>(schema, name)
        .leaf("a", [](const Anything&, const Args& args) { return args.value("v"); })
        .object("b", "Query", [](const Anything&) { return make_node(Anything()); })
        .object("c", "Query", [](const Anything&) {
          return Value(std::vector{make_node(Anything()), make_node(Anything())});
        });
  }
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto schema = make_schema();
  const auto document = parse_document(as_text(data, size));
  if (!document) {
    KEDGE_CHECK(!document.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  const nlohmann::json variables = {{"x", 1}, {"y", "text"}};
  for (const Operation& operation : document->operations) {
    const auto answer = execute({*schema, *document, operation, variables, make_node(Anything())});
    KEDGE_CHECK(!answer || answer->is_object(), "an answer is an object");
  }
  return 0;
}
