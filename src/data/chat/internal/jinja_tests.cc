#include <map>

#include <fmt/format.h>

#include "data/chat/internal/jinja_builtins.h"
#include "data/chat/internal/python_text.h"

namespace kedge::data::jinja {
namespace {

using Test = Result<bool> (*)(const Value& subject, const Value* argument);

// A test of the value alone.
template <auto Holds>
Result<bool> alone(const Value& subject, const Value* argument) {
  if (argument != nullptr) {
    return fail(ErrorKind::Usage, "the test takes no argument");
  }
  return Holds(subject);
}

Result<Value> wanted(const Value* argument) {
  return argument != nullptr ? Result<Value>(*argument)
                             : fail(ErrorKind::Usage, "the test wants an argument");
}

// One of `name`'s comparisons, as in `x is ge 3`. Each of its own type: tests are functions.
template <char kFirst, char kSecond>
Result<bool> compared(const Value& subject, const Value* argument) {
  constexpr char kName[] = {kFirst, kSecond, '\0'};
  const std::string_view name(kName, kSecond == '\0' ? 1 : 2);
  return compare(name, subject, KEDGE_TRY(wanted(argument)));
}

Result<std::int64_t> whole(const Value& value) {
  const auto* number = value.as<std::int64_t>();
  return number != nullptr
             ? Result<std::int64_t>(*number)
             : fail(ErrorKind::Usage, fmt::format("'{}' is not a whole number", type_name(value)));
}

Result<bool> is_divisible(const Value& subject, const Value* argument) {
  const std::int64_t divisor = KEDGE_TRY(whole(KEDGE_TRY(wanted(argument))));
  if (divisor == 0) {
    return fail(ErrorKind::Usage, "division by zero");
  }
  return divisor == -1 || KEDGE_TRY(whole(subject)) % divisor == 0;
}

template <int kRest>
Result<bool> has_parity(const Value& subject, const Value* /*argument*/) {
  return (KEDGE_TRY(whole(subject)) & 1) == kRest;
}

bool is_iterable(const Value& value) {
  return value.text() != nullptr || value.as<ListPtr>() != nullptr ||
         value.as<DictPtr>() != nullptr || value.is_undefined();
}

// Whether there are letters and all have one case, as str.islower() asks.
template <auto Change>
bool has_case(const Value& value) {
  const std::string text = str(value).value_or("");
  return Change(text) == text && lower(text) != upper(text);
}

Result<bool> is_same(const Value& subject, const Value* argument) {
  const Value other = KEDGE_TRY(wanted(argument));
  return subject.held.index() == other.held.index() && are_equal(subject, other);
}

const std::map<std::string_view, Test>& tests() {
  static const std::map<std::string_view, Test> kTests = {
      {"defined", alone<[](const Value& value) { return !value.is_undefined(); }>},
      {"undefined", alone<[](const Value& value) { return value.is_undefined(); }>},
      {"none", alone<[](const Value& value) { return value.is_none(); }>},
      {"boolean", alone<[](const Value& value) { return value.as<bool>() != nullptr; }>},
      {"true",
       alone<[](const Value& value) { return value.as<bool>() != nullptr && *value.as<bool>(); }>},
      {"false",
       alone<[](const Value& value) { return value.as<bool>() != nullptr && !*value.as<bool>(); }>},
      {"integer", alone<[](const Value& value) { return value.as<std::int64_t>() != nullptr; }>},
      {"float", alone<[](const Value& value) { return value.as<double>() != nullptr; }>},
      {"number", alone<is_number>},
      {"string", alone<[](const Value& value) { return value.text() != nullptr; }>},
      {"mapping", alone<[](const Value& value) { return value.as<DictPtr>() != nullptr; }>},
      {"iterable", alone<is_iterable>},
      {"sequence", alone<is_iterable>},
      {"callable", alone<[](const Value& value) { return value.as<CallablePtr>() != nullptr; }>},
      {"lower", alone<has_case<lower>>},
      {"upper", alone<has_case<upper>>},
      {"odd", has_parity<1>},
      {"even", has_parity<0>},
      {"divisibleby", is_divisible},
      {"sameas", is_same},
      {"in",
       [](const Value& subject, const Value* argument) -> Result<bool> {
         return compare("in", subject, KEDGE_TRY(wanted(argument)));
       }},
      {"eq", compared<'=', '='>},
      {"equalto", compared<'=', '='>},
      {"==", compared<'=', '='>},
      {"ne", compared<'!', '='>},
      {"!=", compared<'!', '='>},
      {"lt", compared<'<', '\0'>},
      {"lessthan", compared<'<', '\0'>},
      {"<", compared<'<', '\0'>},
      {"le", compared<'<', '='>},
      {"<=", compared<'<', '='>},
      {"gt", compared<'>', '\0'>},
      {"greaterthan", compared<'>', '\0'>},
      {">", compared<'>', '\0'>},
      {"ge", compared<'>', '='>},
      {">=", compared<'>', '='>},
  };
  return kTests;
}

}  // namespace

bool is_known_test(std::string_view name) {
  return tests().contains(name);
}

Result<bool> apply_test(std::string_view name, const Value& subject, const Arguments& arguments) {
  const auto found = tests().find(name);
  if (found == tests().end()) {
    return fail(ErrorKind::Usage, fmt::format("the test '{}' is not known", name));
  }
  KEDGE_TRY(arguments.check(name, {"other"}));
  return found->second(subject, arguments.find(0, "other"));
}

}  // namespace kedge::data::jinja
