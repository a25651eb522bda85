#include "server/internal/routes.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/nearest.h"
#include "core/result.h"
#include "server/api.h"

namespace kedge::server {
namespace {

constexpr std::string_view kShare = "share";  // the key in a link: on every address

// Numbers are told from texts by what is declared.
Result<Input> read_query(const Schema& schema, const http::Request& request) {
  Input input = Input::object();
  const Schema& known = schema["properties"];
  for (const auto& [name, text] : request.query) {
    if (name == kShare) {
      continue;
    }
    const auto field = known.find(name);
    if (field == known.end()) {
      std::vector<std::string> names;
      for (const auto& [one, unused] : known.items()) {
        names.push_back(one);
      }
      return std::unexpected(
          names.empty()
              ? Error{ErrorKind::Usage, fmt::format("this call has no parameter '{}'", name), ""}
              : unknown_name("parameter", name, names));
    }
    if (input.contains(name)) {
      return fail(ErrorKind::Usage, fmt::format("'{}' is there twice", name));
    }
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const bool is_number = field->value("type", "") == "integer" &&
                           std::from_chars(text.data(), end, number).ptr == end && !text.empty();
    input[name] = is_number ? Input(number) : Input(text);
  }
  return input;
}

bool is_file(const Schema& schema) {
  return schema.contains("format");
}

struct Declared {
  std::shared_ptr<const Shapes> shapes;
  Schema query;
  Schema body;

  Result<Input> check_query(const http::Request& request) const {
    Input input = KEDGE_TRY(read_query(query, request));
    KEDGE_TRY(shapes->check(query, input));
    return input;
  }

  Result<Input> read(const http::Request& request) const {
    Input input = KEDGE_TRY(check_query(request));
    if (is_file(body)) {
      return input;
    }
    Input sent = Input::object();
    if (!request.body.empty()) {
      sent = KEDGE_TRY(parse_json(request.body));
    }
    KEDGE_TRY(shapes->check(body, sent));
    sent.update(input);
    return sent;
  }
};

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

Schema content(std::string_view type, Schema schema) {
  return {{std::string(type), {{"schema", std::move(schema)}}}};
}

// Of the path and of the query.
Schema parameters_of(std::string& path, const Schema& query) {
  Schema parameters = Schema::array();
  for (auto begin = path.find('{'); begin != std::string::npos; begin = path.find('{', begin + 1)) {
    auto end = path.find('}', begin);
    Schema parameter;
    if (path.substr(end - 3, 3) == "...") {
      path.erase(end - 3, 3);
      end -= 3;
      parameter["description"] = "all that is left, with its slashes";
    }
    parameter["name"] = path.substr(begin + 1, end - begin - 1);
    parameter.update({{"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
    parameters.push_back(std::move(parameter));
  }
  for (const auto& [name, schema] : query["properties"].items()) {
    Schema parameter = {{"name", name}, {"in", "query"}};
    const Schema required = query.value("required", Schema::array());
    parameter["required"] = std::ranges::find(required, Schema(name)) != required.end();
    parameter["schema"] = schema;
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

}  // namespace

Routes::Routes(http::Router& router, const Api& api)
    : router_(router), api_(api), shapes_(std::make_shared<Shapes>()) {
  name("WireNumber", "number | 'NaN' | 'Infinity' | '-Infinity'");
  name("ErrorAnswer", R"({
    error: {code: string, message: string, hint?: string},
    next_seq?: integer,  // of a gap in a log, with offset and digest: how far it is taken in
    offset?: integer,
    digest?: string,
  })");
  name("RunRef", "{project: string, id: string}");
}

void Routes::add(http::Method method, std::string pattern, const Call& call, Handling handling) {
  describe(method, pattern, call);
  const auto declared = std::make_shared<const Declared>(
      Declared{shapes_, shapes_->parse(call.query), shapes_->parse(call.body)});
  router_.add(method, std::move(pattern), call.options,
              [declared, handling = std::move(handling)](
                  const http::Request& request) -> Result<http::Response> {
                return handling(request, KEDGE_TRY(declared->read(request)));
              });
}

void Routes::add_quick(http::Method method, std::string pattern, const Call& call,
                       http::QuickHandler quick, http::Handler handler) {
  describe(method, pattern, call);
  const auto declared = std::make_shared<const Declared>(
      Declared{shapes_, shapes_->parse(call.query), shapes_->parse(call.body)});
  router_.add_quick(
      method, std::move(pattern), call.options,
      [declared, quick = std::move(quick)](http::Request&& request, http::Answer answer) {
        if (const auto checked = declared->check_query(request); !checked) {
          answer(http::error_response(checked.error()));
          return;
        }
        quick(std::move(request), std::move(answer));
      },
      [declared,
       handler = std::move(handler)](const http::Request& request) -> Result<http::Response> {
        KEDGE_TRY(declared->check_query(request));
        return handler(request);
      });
}

void Routes::describe(http::Method method, const std::string& pattern, const Call& call) {
  std::string path = pattern;
  Schema operation = {{"summary", call.summary}, {"x-role", name_of(call.options.role)}};
  Schema parameters = parameters_of(path, shapes_->parse(call.query));
  if (!parameters.empty()) {
    operation["parameters"] = std::move(parameters);
  }
  const Schema body = shapes_->parse(call.body);
  if (is_file(body)) {
    operation["requestBody"]["content"] = content("application/octet-stream", body);
  } else if (const Schema& fields = shapes_->resolve(body); !fields["properties"].empty()) {
    operation["requestBody"] = {{"required", fields.contains("required")},
                                {"content", content("application/json", body)}};
  }
  Schema answer = {{"description", "done"}};
  if (!call.answer.empty()) {
    Schema schema = shapes_->parse(call.answer);
    const bool is_bytes = is_file(schema);
    answer["content"] =
        content(is_bytes ? "application/octet-stream" : "application/json", std::move(schema));
  }
  for (const std::string_view type : call.other_types) {
    answer["content"].update(content(type, shapes_->parse("file")));
  }
  const std::vector<int> usual = {answer.contains("content") ? 200 : 204};
  for (const int status : call.statuses.empty() ? usual : call.statuses) {
    operation["responses"][std::to_string(status)] = answer;
  }
  operation["responses"]["default"] = {{"$ref", "#/components/responses/Error"}};
  paths_[path][lower(name_of(method))] = std::move(operation);
}

std::string Routes::openapi() const {
  const Schema error = {{"$ref", "#/components/schemas/ErrorAnswer"}};
  const Schema document = {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "kedge"},
        {"version", KEDGE_VERSION},
        {"description", "The tracking server. docs/reference/api.md tells it with examples."}}},
      {"paths", paths_},
      {"components",
       {{"schemas", shapes_->named()},
        {"responses",
         {{"Error",
           {{"description", "what failed, and what to do"},
            {"content", content("application/json", error)}}}}},
        {"securitySchemes",
         {{"token", {{"type", "http"}, {"scheme", "bearer"}}},
          {"session", {{"type", "apiKey"}, {"in", "cookie"}, {"name", "kedge_session"}}},
          {"share", {{"type", "apiKey"}, {"in", "query"}, {"name", kShare}}}}}}},
      {"security", Schema::array({{{"token", Schema::array()}},
                                  {{"session", Schema::array()}},
                                  {{"share", Schema::array()}},
                                  Schema::object()})}};
  return document.dump(1);
}

}  // namespace kedge::server
