// Functions, and the methods of texts, dicts, lists and loops.
#include <algorithm>
#include <array>
#include <ctime>
#include <map>

#include <fmt/format.h>

#include "core/utf8.h"
#include "data/chat/internal/jinja_builtins.h"
#include "data/chat/internal/jinja_lexer.h"
#include "data/chat/internal/python_text.h"

namespace kedge::data::jinja {
namespace {

constexpr std::array<std::string_view, 5> kFunctions = {"raise_exception", "strftime_now",
                                                        "namespace", "range", "dict"};
// The largest range() of Jinja's sandbox.
constexpr std::int64_t kMaxRange = 100000;

using TextMethod = Result<Value> (*)(const std::string& self, const Arguments& arguments);

Value of_texts(std::vector<std::string> texts) {
  std::vector<Value> items;
  for (std::string& text : texts) {
    items.push_back(of_text(std::move(text)));
  }
  return of_list(std::move(items));
}

// Whether the text has one of the affixes, a text or a tuple of them, at its start or end.
Result<Value> has_affix(const std::string& self, const Arguments& arguments, bool at_start) {
  KEDGE_TRY(arguments.check(at_start ? "startswith" : "endswith", {"prefix"}));
  const Value* affix = arguments.find(0, "prefix");
  const auto fits = [&](const Value& value) {
    const std::string* text = value.text();
    return text != nullptr && (at_start ? self.starts_with(*text) : self.ends_with(*text));
  };
  if (affix != nullptr && affix->text() != nullptr) {
    return of_bool(fits(*affix));
  }
  const auto* list = affix == nullptr ? nullptr : affix->as<ListPtr>();
  if (list == nullptr) {
    return fail(ErrorKind::Usage, "startswith() and endswith() want a text");
  }
  return of_bool(std::ranges::any_of((*list)->items, fits));
}

template <auto Strip>
Result<Value> stripped(const std::string& self, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("strip", {"chars"}));
  return of_text(std::string(Strip(self, KEDGE_TRY(arguments.text(0, "chars")))));
}

template <auto Split>
Result<Value> parts(const std::string& self, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("split", {"sep", "maxsplit"}));
  const auto separator = KEDGE_TRY(arguments.text(0, "sep"));
  if (separator && separator->empty()) {
    return fail(ErrorKind::Usage, "split() at an empty text");
  }
  return of_texts(Split(self, separator, KEDGE_TRY(arguments.whole(1, "maxsplit", -1))));
}

template <auto Change>
Result<Value> changed(const std::string& self, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("lower, upper, title or capitalize", {}));
  return of_text(Change(self));
}

Result<std::string> wanted_text(const Arguments& arguments, std::size_t place,
                                std::string_view name) {
  const auto text = KEDGE_TRY(arguments.text(place, name));
  return text ? Result<std::string>(*text)
              : fail(ErrorKind::Usage, fmt::format("'{}' is missing", name));
}

Result<Value> replaced(const std::string& self, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("replace", {"old", "new", "count"}));
  std::string out = replace(self, KEDGE_TRY(wanted_text(arguments, 0, "old")),
                            KEDGE_TRY(wanted_text(arguments, 1, "new")),
                            KEDGE_TRY(arguments.whole(2, "count", -1)));
  if (out.size() > kMaxTextBytes) {
    return fail(ErrorKind::Usage, "a text grows beyond 64 MiB");
  }
  return of_text(std::move(out));
}

// Where a part begins, counted in characters, or -1.
template <bool kFromRight>
Result<Value> place_of_part(const std::string& self, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("find", {"sub"}));
  const std::string part = KEDGE_TRY(wanted_text(arguments, 0, "sub"));
  const std::size_t at = kFromRight ? self.rfind(part) : self.find(part);
  return of_int(at == std::string::npos ? -1
                                        : static_cast<std::int64_t>(count_characters(
                                              std::string_view(self).substr(0, at))));
}

Result<Value> joined(const std::string& self, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("join", {"parts"}));
  const Value* list = arguments.find(0, "parts");
  std::string out;
  bool is_first = true;
  for (const Value& item : KEDGE_TRY(items_of(list == nullptr ? Value{} : *list))) {
    if (item.text() == nullptr) {
      return fail(ErrorKind::Usage, fmt::format("join() of a '{}'", type_name(item)));
    }
    out += (std::exchange(is_first, false) ? "" : self) + *item.text();
  }
  return of_text(std::move(out));
}

template <bool kPrefix>
Result<Value> without_affix(const std::string& self, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("removeprefix", {"affix"}));
  const std::string affix = KEDGE_TRY(wanted_text(arguments, 0, "affix"));
  const bool has = kPrefix ? self.starts_with(affix) : self.ends_with(affix);
  return of_text(!has ? self : self.substr(kPrefix ? affix.size() : 0, self.size() - affix.size()));
}

Result<Value> counted(const std::string& self, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("count", {"sub"}));
  const std::string part = KEDGE_TRY(wanted_text(arguments, 0, "sub"));
  const std::size_t found =
      part.empty() ? count_characters(self) + 1 : split(self, part, -1).size() - 1;
  return of_int(static_cast<std::int64_t>(found));
}

template <bool kSpace>
Result<Value> is_all(const std::string& self, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("isdigit or isspace", {}));
  std::string_view rest = self;
  bool fits = !self.empty();
  while (fits && !rest.empty()) {
    const char32_t character = take_character(rest);
    fits = kSpace ? is_space(character) : character >= '0' && character <= '9';
  }
  return of_bool(fits);
}

const std::map<std::string_view, TextMethod>& text_methods() {
  static const std::map<std::string_view, TextMethod> kMethods = {
      {"startswith", [](const std::string& self,
                        const Arguments& arguments) { return has_affix(self, arguments, true); }},
      {"endswith", [](const std::string& self,
                      const Arguments& arguments) { return has_affix(self, arguments, false); }},
      {"strip", stripped<strip>},
      {"lstrip", stripped<strip_left>},
      {"rstrip", stripped<strip_right>},
      {"split", parts<split>},
      {"rsplit", parts<split_right>},
      {"splitlines",
       [](const std::string& self, const Arguments& arguments) -> Result<Value> {
         KEDGE_TRY(arguments.check("splitlines", {}));
         return of_texts(split_lines(self));
       }},
      {"replace", replaced},
      {"lower", changed<lower>},
      {"upper", changed<upper>},
      {"title", changed<title>},
      {"capitalize", changed<capitalize>},
      {"find", place_of_part<false>},
      {"rfind", place_of_part<true>},
      {"join", joined},
      {"removeprefix", without_affix<true>},
      {"removesuffix", without_affix<false>},
      {"count", counted},
      {"isdigit", is_all<false>},
      {"isspace", is_all<true>},
  };
  return kMethods;
}

constexpr std::array<std::string_view, 4> kDictMethods = {"items", "keys", "values", "get"};
constexpr std::array<std::string_view, 2> kListMethods = {"index", "count"};
constexpr std::array<std::string_view, 1> kLoopMethods = {"cycle"};

Result<Value> call_dict_method(const Dict& self, std::string_view name,
                               const Arguments& arguments) {
  if (name == "get") {
    KEDGE_TRY(arguments.check("get", {"key", "default"}));
    const std::string key = KEDGE_TRY(wanted_text(arguments, 0, "key"));
    const Value* found = self.find(key);
    const Value* fallback = arguments.find(1, "default");
    return found != nullptr ? *found : fallback != nullptr ? *fallback : Value{None{}};
  }
  KEDGE_TRY(arguments.check(name, {}));
  std::vector<Value> items;
  for (const auto& [key, value] : self.entries) {
    items.push_back(name == "items"  ? of_list({of_text(key), value}, /*is_tuple=*/true)
                    : name == "keys" ? of_text(key)
                                     : value);
  }
  return of_list(std::move(items));
}

Result<Value> call_list_method(const List& self, std::string_view name,
                               const Arguments& arguments) {
  KEDGE_TRY(arguments.check(name, {"value"}));
  const Value* wanted = arguments.find(0, "value");
  const auto is_it = [&](const Value& item) {
    return wanted != nullptr && are_equal(item, *wanted);
  };
  if (name == "count") {
    return of_int(std::ranges::count_if(self.items, is_it));
  }
  const auto found = std::ranges::find_if(self.items, is_it);
  if (found == self.items.end()) {
    return fail(ErrorKind::Usage, "index(): the list has no such item");
  }
  return of_int(found - self.items.begin());
}

Result<Value> make_range(const Arguments& arguments) {
  KEDGE_TRY(arguments.check("range", {"start", "stop", "step"}));
  const std::int64_t first = KEDGE_TRY(arguments.whole(0, "start", 0));
  const bool has_stop = arguments.find(1, "stop") != nullptr;
  const std::int64_t stop = has_stop ? KEDGE_TRY(arguments.whole(1, "stop", 0)) : first;
  const std::int64_t step = KEDGE_TRY(arguments.whole(2, "step", 1));
  if (step == 0) {
    return fail(ErrorKind::Usage, "range() with a step of 0");
  }
  std::vector<Value> items;
  for (__int128 at = has_stop ? first : 0; step > 0 ? at < stop : at > stop; at += step) {
    if (static_cast<std::int64_t>(items.size()) == kMaxRange) {
      return fail(ErrorKind::Usage, fmt::format("range() of more than {} numbers", kMaxRange));
    }
    items.push_back(of_int(static_cast<std::int64_t>(at)));
  }
  return of_list(std::move(items));
}

Result<Value> render_now(const Arguments& arguments, const Surroundings& surroundings) {
  KEDGE_TRY(arguments.check("strftime_now", {"format"}));
  if (!surroundings.now_s) {
    return fail(ErrorKind::Usage, "strftime_now(): the date is not part of the data",
                "a template that prints the date would give other tokens every day; test "
                "`strftime_now is defined` in it, or write a date in its place");
  }
  const std::string format = KEDGE_TRY(wanted_text(arguments, 0, "format"));
  const std::time_t now = *surroundings.now_s;
  std::tm parts = {};
  gmtime_r(&now, &parts);
  std::array<char, 512> buffer = {};
  const std::size_t size = std::strftime(buffer.data(), buffer.size(), format.c_str(), &parts);
  return of_text(std::string(buffer.data(), size));
}

// dict(...) and namespace(...): a dict, then names.
Result<Dict> collect(std::string_view whose, const Arguments& arguments) {
  Dict dict;
  for (const Value& plain : arguments.plain) {
    const auto* given = plain.as<DictPtr>();
    if (given == nullptr || arguments.plain.size() > 1) {
      return fail(ErrorKind::Usage, fmt::format("{}() takes names and one dict", whose));
    }
    dict = **given;
  }
  for (const auto& [name, value] : arguments.named) {
    dict.set(name, value);
  }
  return dict;
}

}  // namespace

bool is_known_function(std::string_view name) {
  return std::ranges::find(kFunctions, name) != kFunctions.end();
}

bool is_known_method(std::string_view name) {
  const auto has = [&](const auto& names) { return std::ranges::find(names, name) != names.end(); };
  return text_methods().contains(name) || has(kDictMethods) || has(kListMethods) ||
         has(kLoopMethods);
}

bool has_method(const Value& self, std::string_view name) {
  const auto has = [&](const auto& names) { return std::ranges::find(names, name) != names.end(); };
  return self.text() != nullptr          ? text_methods().contains(name)
         : self.as<DictPtr>() != nullptr ? has(kDictMethods)
         : self.as<ListPtr>() != nullptr ? has(kListMethods)
                                         : self.as<LoopPtr>() != nullptr && has(kLoopMethods);
}

Error unknown_builtin(int line, std::string_view kind, std::string_view name) {
  return fail_at(line, fmt::format("the {} '{}' is not known", kind, name),
                 "kedge knows what the templates of common models use; write it another way in the "
                 "template, or report it")
      .error();
}

const Value* Arguments::find(std::size_t place, std::string_view name) const {
  if (place < plain.size()) {
    return &plain[place];
  }
  const auto found = std::ranges::find(named, name, &std::pair<std::string, Value>::first);
  return found == named.end() ? nullptr : &found->second;
}

Result<std::int64_t> Arguments::whole(std::size_t place, std::string_view name,
                                      std::int64_t fallback) const {
  const Value* value = find(place, name);
  if (value == nullptr || value->is_none()) {
    return fallback;
  }
  const auto* number = value->as<std::int64_t>();
  if (number == nullptr) {
    return fail(ErrorKind::Usage,
                fmt::format("'{}' is a {}, not a whole number", name, type_name(*value)));
  }
  return *number;
}

Result<std::optional<std::string>> Arguments::text(std::size_t place, std::string_view name) const {
  const Value* value = find(place, name);
  if (value == nullptr || value->is_none()) {
    return std::nullopt;
  }
  if (value->text() == nullptr) {
    return fail(ErrorKind::Usage, fmt::format("'{}' is a {}, not a text", name, type_name(*value)));
  }
  return *value->text();
}

Result<bool> Arguments::flag(std::size_t place, std::string_view name, bool fallback) const {
  const Value* value = find(place, name);
  return value == nullptr ? fallback : is_true(*value);
}

Result<void> Arguments::check(std::string_view whose,
                              const std::vector<std::string_view>& names) const {
  if (plain.size() > names.size()) {
    return fail(ErrorKind::Usage, fmt::format("{} takes at most {} arguments, not {}", whose,
                                              names.size(), plain.size()));
  }
  for (const auto& [name, value] : named) {
    if (std::ranges::find(names, name) == names.end()) {
      return fail(ErrorKind::Usage, fmt::format("{} has no argument '{}'", whose, name));
    }
  }
  return {};
}

Result<Value> call_function(std::string_view name, const Arguments& arguments,
                            const Surroundings& surroundings) {
  if (name == "raise_exception") {
    const Value* message = arguments.find(0, "message");
    return fail(ErrorKind::Usage, fmt::format("the template refuses this conversation: {}",
                                              message == nullptr ? "" : KEDGE_TRY(str(*message))));
  }
  if (name == "strftime_now") {
    return render_now(arguments, surroundings);
  }
  if (name == "range") {
    return make_range(arguments);
  }
  Dict dict = KEDGE_TRY(collect(name, arguments));
  if (name == "namespace") {
    return Value{std::make_shared<Namespace>(Namespace{std::move(dict)})};
  }
  return Value{DictPtr(std::make_shared<const Dict>(std::move(dict)))};
}

Result<Value> call_method(const Value& self, std::string_view name, const Arguments& arguments) {
  if (!has_method(self, name)) {
    return fail(ErrorKind::Usage, fmt::format("a '{}' has no method '{}'", type_name(self), name));
  }
  if (const auto* text = self.text()) {
    return text_methods().at(name)(*text, arguments);
  }
  if (const auto* dict = self.as<DictPtr>()) {
    return call_dict_method(**dict, name, arguments);
  }
  if (const auto* list = self.as<ListPtr>()) {
    return call_list_method(**list, name, arguments);
  }
  const Loop& loop = **self.as<LoopPtr>();
  if (arguments.plain.empty()) {
    return fail(ErrorKind::Usage, "loop.cycle() of nothing");
  }
  return arguments.plain[loop.index % arguments.plain.size()];
}

}  // namespace kedge::data::jinja
