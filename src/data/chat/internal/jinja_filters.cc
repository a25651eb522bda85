#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/utf8.h"
#include "data/chat/internal/jinja_builtins.h"
#include "data/chat/internal/python_text.h"

namespace kedge::data::jinja {
namespace {

using Filter = Result<Value> (*)(const Value& subject, const Arguments& arguments);
using Items = std::vector<Value>;

// soft_str() of the subject, changed by a function of texts.
template <auto Change>
Result<Value> changed(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("upper, lower, capitalize or title", {}));
  return of_text(Change(KEDGE_TRY(str(subject))));
}

// Jinja's title begins words after other characters than Python's.
std::string title_words(std::string_view text) {
  std::string out;
  std::string word;
  const auto end_word = [&] { out += capitalize(std::exchange(word, {})); };
  while (!text.empty()) {
    const std::string_view before = text;
    const char32_t c = take_character(text);
    const bool begins =
        is_space(c) || (c < 0x80 && std::string_view("-({[<").contains(static_cast<char>(c)));
    if (begins) {
      end_word();
      out += before.substr(0, before.size() - text.size());
    } else {
      word += before.substr(0, before.size() - text.size());
    }
  }
  end_word();
  return out;
}

Result<Value> trimmed(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("trim", {"chars"}));
  return of_text(
      std::string(strip(KEDGE_TRY(str(subject)), KEDGE_TRY(arguments.text(0, "chars")))));
}

Result<Value> as_json(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("tojson", {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ascii = KEDGE_TRY(arguments.flag(0, "ensure_ascii", false));
  style.indent = static_cast<int>(
      std::clamp<std::int64_t>(KEDGE_TRY(arguments.whole(1, "indent", -1)), -1, 64));
  style.item_separator = style.indent >= 0 ? "," : ", ";
  style.sort_keys = KEDGE_TRY(arguments.flag(3, "sort_keys", false));
  if (const Value* separators = arguments.find(2, "separators");
      separators != nullptr && !separators->is_none()) {
    const Items pair = KEDGE_TRY(items_of(*separators));
    if (pair.size() != 2 || pair[0].text() == nullptr || pair[1].text() == nullptr) {
      return fail(ErrorKind::Usage, "tojson: separators are two texts");
    }
    style.item_separator = *pair[0].text();
    style.key_separator = *pair[1].text();
  }
  return of_text(KEDGE_TRY(to_json(subject, style)));
}

Result<Value> length_of(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("length", {}));
  if (const auto* text = subject.text()) {
    return of_int(static_cast<std::int64_t>(count_characters(*text)));
  }
  return of_int(static_cast<std::int64_t>(KEDGE_TRY(items_of(subject)).size()));
}

Result<Value> or_default(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("default", {"default_value", "boolean"}));
  const bool also_false = KEDGE_TRY(arguments.flag(1, "boolean", false));
  const Value* fallback = arguments.find(0, "default_value");
  const bool is_missing = subject.is_undefined() || (also_false && !is_true(subject));
  return !is_missing ? subject : fallback == nullptr ? of_text("") : *fallback;
}

// subject.a.0.b; what is not there is the fallback, if there is one.
Result<Value> by_path(const Value& subject, const std::string& path, const Value* fallback) {
  Value value = subject;
  for (const std::string& part : split(path, ".", -1)) {
    std::int64_t index = 0;
    const auto end = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool is_index = end.ec == std::errc() && end.ptr == part.data() + part.size();
    value = KEDGE_TRY(item_of(value, is_index ? of_int(index) : of_text(part)));
    value = value.is_undefined() && fallback != nullptr ? *fallback : value;
  }
  return value;
}

Result<Value> by_attribute(const Value& item, const Arguments& arguments, std::size_t place,
                           const Value* fallback = nullptr) {
  const Value* path = arguments.find(place, "attribute");
  return path == nullptr || path->is_none() ? item : by_path(item, KEDGE_TRY(str(*path)), fallback);
}

Result<Value> joined(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("join", {"d", "attribute"}));
  const std::string between = KEDGE_TRY(arguments.text(0, "d")).value_or("");
  std::string out;
  bool is_first = true;
  for (const Value& item : KEDGE_TRY(items_of(subject))) {
    out += std::exchange(is_first, false) ? "" : between;
    out += KEDGE_TRY(str(KEDGE_TRY(by_attribute(item, arguments, 1))));
    if (out.size() > kMaxTextBytes) {
      return fail(ErrorKind::Usage, "a text grows beyond 64 MiB");
    }
  }
  return of_text(std::move(out));
}

template <bool kLast>
Result<Value> end_of(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("first or last", {}));
  const Items items = KEDGE_TRY(items_of(subject));
  return items.empty() ? Value{Undefined{kLast ? "last" : "first"}}
                       : (kLast ? items.back() : items.front());
}

Result<Value> as_list(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("list", {}));
  return of_list(KEDGE_TRY(items_of(subject)));
}

Result<Value> as_text(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("string", {}));
  return of_text(KEDGE_TRY(str(subject)));
}

std::optional<double> parse_number(const Value& subject) {
  if (is_number(subject)) {
    return number_of(subject);
  }
  const std::string text(subject.text() == nullptr ? "" : strip(*subject.text()));
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return text.empty() || *end != '\0' ? std::nullopt : std::optional(number);
}

Result<Value> as_whole(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("int", {"default"}));
  if (const auto* whole = subject.as<std::int64_t>()) {
    return of_int(*whole);
  }
  const auto number = parse_number(subject);
  const bool fits = number && std::abs(*number) < 9e18;
  return of_int(fits ? static_cast<std::int64_t>(*number)
                     : KEDGE_TRY(arguments.whole(0, "default", 0)));
}

Result<Value> as_real(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("float", {"default"}));
  const Value* fallback = arguments.find(0, "default");
  return Value{parse_number(subject).value_or(fallback == nullptr ? 0 : number_of(*fallback))};
}

Result<Value> absolute(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("abs", {}));
  if (!is_number(subject)) {
    return fail(ErrorKind::Usage, fmt::format("abs of a '{}'", type_name(subject)));
  }
  const auto* whole = subject.as<std::int64_t>();
  return whole != nullptr && *whole != INT64_MIN ? of_int(std::abs(*whole))
                                                 : Value{std::abs(number_of(subject))};
}

Result<Value> rounded(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("round", {"precision", "method"}));
  const std::int64_t digits =
      std::clamp<std::int64_t>(KEDGE_TRY(arguments.whole(0, "precision", 0)), -300, 300);
  const std::string how = KEDGE_TRY(arguments.text(1, "method")).value_or("common");
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const double scaled = number_of(subject) * scale;
  const double out = how == "ceil"    ? std::ceil(scaled)
                     : how == "floor" ? std::floor(scaled)
                                      : std::nearbyint(scaled);
  return Value{out / scale};
}

Result<Value> replaced(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("replace", {"old", "new", "count"}));
  const auto from = KEDGE_TRY(arguments.text(0, "old"));
  const auto to = KEDGE_TRY(arguments.text(1, "new"));
  if (!from || !to) {
    return fail(ErrorKind::Usage, "replace wants an old and a new text");
  }
  std::string out =
      replace(KEDGE_TRY(str(subject)), *from, *to, KEDGE_TRY(arguments.whole(2, "count", -1)));
  if (out.size() > kMaxTextBytes) {
    return fail(ErrorKind::Usage, "a text grows beyond 64 MiB");
  }
  return of_text(std::move(out));
}

// What items are ordered by: texts without their case, where that does not count.
Result<std::vector<std::pair<Value, Value>>> keyed(const Items& items, const Arguments& arguments,
                                                   bool with_case, std::size_t place) {
  std::vector<std::pair<Value, Value>> pairs;
  for (const Value& item : items) {
    Value key = KEDGE_TRY(by_attribute(item, arguments, place));
    if (key.text() != nullptr && !with_case) {
      key = of_text(lower(*key.text()));
    }
    pairs.emplace_back(std::move(key), item);
  }
  return pairs;
}

// Orders by key; Usage where two cannot be compared.
Result<Items> ordered(std::vector<std::pair<Value, Value>> pairs, bool reverse) {
  for (std::size_t i = 1; i < pairs.size(); ++i) {
    KEDGE_TRY(compare("<", pairs[0].first, pairs[i].first));
  }
  std::ranges::stable_sort(pairs, [reverse](const auto& a, const auto& b) {
    return reverse ? *compare("<", b.first, a.first) : *compare("<", a.first, b.first);
  });
  Items items;
  for (auto& pair : pairs) {
    items.push_back(std::move(pair.second));
  }
  return items;
}

Result<Value> sorted(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("sort", {"reverse", "case_sensitive", "attribute"}));
  const bool with_case = KEDGE_TRY(arguments.flag(1, "case_sensitive", false));
  auto pairs = KEDGE_TRY(keyed(KEDGE_TRY(items_of(subject)), arguments, with_case, 2));
  return of_list(
      KEDGE_TRY(ordered(std::move(pairs), KEDGE_TRY(arguments.flag(0, "reverse", false)))));
}

Result<Value> sorted_dict(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("dictsort", {"case_sensitive", "by", "reverse"}));
  const auto* dict = subject.as<DictPtr>();
  if (dict == nullptr) {
    return fail(ErrorKind::Usage, fmt::format("dictsort of a '{}'", type_name(subject)));
  }
  const bool with_case = KEDGE_TRY(arguments.flag(0, "case_sensitive", false));
  const bool by_value = KEDGE_TRY(arguments.text(1, "by")).value_or("key") == "value";
  std::vector<std::pair<Value, Value>> pairs;
  for (const auto& [name, value] : (*dict)->entries) {
    Value key = by_value ? value : of_text(name);
    if (key.text() != nullptr && !with_case) {
      key = of_text(lower(*key.text()));
    }
    pairs.emplace_back(std::move(key), of_list({of_text(name), value}, /*is_tuple=*/true));
  }
  return of_list(
      KEDGE_TRY(ordered(std::move(pairs), KEDGE_TRY(arguments.flag(2, "reverse", false)))));
}

template <bool kMost>
Result<Value> extreme(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("min or max", {"case_sensitive", "attribute"}));
  const bool with_case = KEDGE_TRY(arguments.flag(0, "case_sensitive", false));
  auto pairs = KEDGE_TRY(keyed(KEDGE_TRY(items_of(subject)), arguments, with_case, 1));
  const Items items = KEDGE_TRY(ordered(std::move(pairs), kMost));
  return items.empty() ? Value{Undefined{kMost ? "max" : "min"}} : items.front();
}

Result<Value> without_repeats(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("unique", {"case_sensitive", "attribute"}));
  const bool with_case = KEDGE_TRY(arguments.flag(0, "case_sensitive", false));
  const auto pairs = KEDGE_TRY(keyed(KEDGE_TRY(items_of(subject)), arguments, with_case, 1));
  if (pairs.size() > 10000) {
    return fail(ErrorKind::Usage, "unique of more than 10000 items");
  }
  Items kept;
  for (auto at = pairs.begin(); at != pairs.end(); ++at) {
    if (std::none_of(pairs.begin(), at, [&](auto& p) { return are_equal(p.first, at->first); })) {
      kept.push_back(at->second);
    }
  }
  return of_list(std::move(kept));
}

Result<Value> reversed(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("reverse", {}));
  Items items = KEDGE_TRY(items_of(subject));
  std::ranges::reverse(items);
  return subject.text() == nullptr ? of_list(std::move(items))
                                   : joined(of_list(std::move(items)), {});
}

Result<Value> sum_of(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("sum", {"attribute", "start"}));
  const Value* start = arguments.find(1, "start");
  Value sum = start == nullptr ? of_int(0) : *start;
  for (const Value& item : KEDGE_TRY(items_of(subject))) {
    sum = KEDGE_TRY(calculate("+", sum, KEDGE_TRY(by_attribute(item, arguments, 0))));
  }
  return sum;
}

Result<Value> pairs_of(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("items", {}));
  return subject.is_undefined() ? of_list({}) : call_method(subject, "items", {});
}

// Lines after the first begin with spaces.
Result<Value> indented(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("indent", {"width", "first", "blank"}));
  const Value* width = arguments.find(0, "width");
  const std::string space =
      width != nullptr && width->text() != nullptr
          ? *width->text()
          : std::string(static_cast<std::size_t>(std::clamp<std::int64_t>(
                            KEDGE_TRY(arguments.whole(0, "width", 4)), 0, 1000)),
                        ' ');
  const bool at_first = KEDGE_TRY(arguments.flag(1, "first", false));
  const bool at_blank = KEDGE_TRY(arguments.flag(2, "blank", false));
  std::string out;
  // A last line's end stays, as in Jinja.
  for (const std::string& line : split_lines(KEDGE_TRY(str(subject)) + "\n")) {
    const bool is_first = out.empty();
    out += is_first ? "" : "\n";
    out += (is_first ? at_first : at_blank || !line.empty()) ? space + line : line;
    if (out.size() > kMaxTextBytes) {
      return fail(ErrorKind::Usage, "a text grows beyond 64 MiB");
    }
  }
  return of_text(std::move(out));
}

// The arguments from `first` on, with those that have a name.
Arguments rest_of(const Arguments& arguments, std::size_t first) {
  Arguments rest = arguments;
  rest.plain.erase(rest.plain.begin(), rest.plain.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                first, rest.plain.size())));
  return rest;
}

Result<Value> mapped(const Value& subject, const Arguments& arguments) {
  Items out;
  const bool by_name = arguments.plain.empty();
  for (const Value& item : KEDGE_TRY(items_of(subject))) {
    if (!by_name) {
      const std::string name = KEDGE_TRY(str(arguments.plain[0]));
      out.push_back(KEDGE_TRY(apply_filter(name, item, rest_of(arguments, 1))));
      continue;
    }
    KEDGE_TRY(arguments.check("map", {"attribute", "default"}));
    out.push_back(KEDGE_TRY(by_attribute(item, arguments, 0, arguments.find(1, "default"))));
  }
  return of_list(std::move(out));
}

// select, reject, selectattr and rejectattr: items for which a test holds, or does not.
template <bool kKeep, bool kByAttribute>
Result<Value> selected(const Value& subject, const Arguments& arguments) {
  constexpr std::size_t kTest = kByAttribute ? 1 : 0;
  Items out;
  if (kByAttribute && arguments.plain.empty()) {
    return fail(ErrorKind::Usage, "selectattr and rejectattr want an attribute");
  }
  for (const Value& item : KEDGE_TRY(items_of(subject))) {
    const Value value =
        kByAttribute ? KEDGE_TRY(by_path(item, KEDGE_TRY(str(arguments.plain[0])), nullptr)) : item;
    bool holds = is_true(value);
    if (arguments.plain.size() > kTest) {
      const std::string name = KEDGE_TRY(str(arguments.plain[kTest]));
      holds = KEDGE_TRY(apply_test(name, value, rest_of(arguments, kTest + 1)));
    }
    if (holds == kKeep) {
      out.push_back(item);
    }
  }
  return of_list(std::move(out));
}

Result<Value> unchanged(const Value& subject, const Arguments& arguments) {
  KEDGE_TRY(arguments.check("safe", {}));
  return of_text(KEDGE_TRY(str(subject)));
}

const std::map<std::string_view, Filter>& filters() {
  static const std::map<std::string_view, Filter> kFilters = {
      {"abs", absolute},
      {"capitalize", changed<capitalize>},
      {"count", length_of},
      {"d", or_default},
      {"default", or_default},
      {"dictsort", sorted_dict},
      {"first", end_of<false>},
      {"float", as_real},
      {"indent", indented},
      {"int", as_whole},
      {"items", pairs_of},
      {"join", joined},
      {"last", end_of<true>},
      {"length", length_of},
      {"list", as_list},
      {"lower", changed<lower>},
      {"map", mapped},
      {"max", extreme<true>},
      {"min", extreme<false>},
      {"reject", selected<false, false>},
      {"rejectattr", selected<false, true>},
      {"replace", replaced},
      {"reverse", reversed},
      {"round", rounded},
      {"safe", unchanged},
      {"select", selected<true, false>},
      {"selectattr", selected<true, true>},
      {"sort", sorted},
      {"string", as_text},
      {"sum", sum_of},
      {"title", changed<title_words>},
      {"tojson", as_json},
      {"trim", trimmed},
      {"unique", without_repeats},
      {"upper", changed<upper>},
  };
  return kFilters;
}

}  // namespace

bool is_known_filter(std::string_view name) {
  return filters().contains(name);
}

Result<Value> apply_filter(std::string_view name, const Value& subject,
                           const Arguments& arguments) {
  const auto found = filters().find(name);
  if (found == filters().end()) {
    return fail(ErrorKind::Usage, fmt::format("the filter '{}' is not known", name));
  }
  return found->second(subject, arguments);
}

}  // namespace kedge::data::jinja
