// Attributes, items, slices, comparisons and arithmetic of a template's values.
#include <algorithm>
#include <cmath>
#include <compare>

#include <fmt/format.h>

#include "data/chat/internal/jinja_builtins.h"

namespace kedge::data::jinja {
namespace {

Error type_error(std::string_view what, const Value& a, const Value& b) {
  const auto name = [](const Value& value) {
    const auto* undefined = value.as<Undefined>();
    return undefined == nullptr ? fmt::format("'{}'", type_name(value))
                                : fmt::format("'{}', which is undefined,", undefined->name);
  };
  return {ErrorKind::Usage, fmt::format("{} and {} do not go with '{}'", name(a), name(b), what)};
}

Value undefined(std::string name) {
  return {Undefined{std::move(name)}};
}

Value loop_attribute(const Loop& loop, std::string_view name) {
  const auto index = static_cast<std::int64_t>(loop.index);
  const auto count = static_cast<std::int64_t>(loop.items->size());
  if (name == "index" || name == "index0") {
    return of_int(name == "index" ? index + 1 : index);
  }
  if (name == "revindex" || name == "revindex0") {
    return of_int(count - index - (name == "revindex" ? 0 : 1));
  }
  if (name == "first" || name == "last") {
    return of_bool(name == "first" ? index == 0 : index + 1 == count);
  }
  if (name == "length") {
    return of_int(count);
  }
  if (name == "depth" || name == "depth0") {
    return of_int(name == "depth" ? 1 : 0);  // of recursive loops, which there are none
  }
  if (name == "previtem" && index > 0) {
    return (*loop.items)[loop.index - 1];
  }
  if (name == "nextitem" && index + 1 < count) {
    return (*loop.items)[loop.index + 1];
  }
  return undefined("loop." + std::string(name));
}

// The place of Python's index, or nothing outside of `size`.
std::optional<std::size_t> place_of(const Value& key, std::size_t size) {
  const auto* flag = key.as<bool>();
  const auto* whole = key.as<std::int64_t>();
  if (whole == nullptr && flag == nullptr) {
    return {};
  }
  const auto count = static_cast<std::int64_t>(size);
  const std::int64_t index = whole == nullptr ? static_cast<std::int64_t>(*flag) : *whole;
  const std::int64_t place = index < 0 ? index + count : index;
  return place < 0 || place >= count ? std::nullopt : std::optional<std::size_t>(place);
}

struct SliceBounds {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t step = 1;
};

// As Python's slice.indices().
Result<SliceBounds> bounds_of(const std::vector<const Value*>& bounds, std::int64_t size) {
  std::vector<std::optional<std::int64_t>> given(3);
  for (std::size_t i = 0; i < 3; ++i) {
    if (bounds[i] == nullptr || bounds[i]->is_none()) {
      continue;
    }
    const auto* whole = bounds[i]->as<std::int64_t>();
    if (whole == nullptr) {
      return fail(ErrorKind::Usage,
                  fmt::format("a slice has '{}' for a bound", type_name(*bounds[i])));
    }
    given[i] = *whole;
  }
  const std::int64_t step = given[2].value_or(1);
  if (step == 0) {
    return fail(ErrorKind::Usage, "a slice has a step of 0");
  }
  const std::int64_t lowest = step < 0 ? -1 : 0;
  const std::int64_t highest = step < 0 ? size - 1 : size;
  const auto placed = [&](std::int64_t bound) {
    return std::clamp(bound < 0 ? std::max(bound, -size - 1) + size : bound, lowest, highest);
  };
  return SliceBounds{given[0]   ? placed(*given[0])
                     : step < 0 ? highest
                                : lowest,
                     given[1]   ? placed(*given[1])
                     : step < 0 ? lowest
                                : highest,
                     std::clamp(step, -size - 1, size + 1)};
}

Result<bool> contains(const Value& whole, const Value& part) {
  if (const auto* text = whole.text()) {
    const std::string* wanted = part.text();
    if (wanted == nullptr) {
      return std::unexpected(type_error("in", part, whole));
    }
    return text->contains(*wanted);
  }
  if (const auto* dict = whole.as<DictPtr>()) {
    return part.text() != nullptr && (*dict)->find(*part.text()) != nullptr;
  }
  const std::vector<Value> items = KEDGE_TRY(items_of(whole));
  return std::ranges::any_of(items, [&](const Value& item) { return are_equal(item, part); });
}

Result<std::partial_ordering> order_of(const Value& a, const Value& b, std::string_view name) {
  if (is_number(a) && is_number(b)) {
    return number_of(a) <=> number_of(b);
  }
  if (a.text() != nullptr && b.text() != nullptr) {
    return *a.text() <=> *b.text();
  }
  return std::unexpected(type_error(name, a, b));
}

Result<Value> repeated(const Value& what, std::int64_t count) {
  const auto times = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  if (const auto* text = what.text()) {
    if (times > kMaxTextBytes || text->size() * times > kMaxTextBytes) {
      return fail(ErrorKind::Usage, "a text is repeated beyond 64 MiB");
    }
    std::string out;
    for (std::size_t i = 0; i < times; ++i) {
      out += *text;
    }
    return of_text(std::move(out));
  }
  const List& list = **what.as<ListPtr>();
  if (times > kMaxTextBytes / 64 || list.items.size() * times > kMaxTextBytes / 64) {
    return fail(ErrorKind::Usage, "a list is repeated beyond a million items");
  }
  std::vector<Value> items;
  for (std::size_t i = 0; i < times; ++i) {
    items.insert(items.end(), list.items.begin(), list.items.end());
  }
  return of_list(std::move(items), list.is_tuple);
}

std::optional<std::int64_t> whole_of(const Value& value) {
  const auto* flag = value.as<bool>();
  const auto* whole = value.as<std::int64_t>();
  return whole != nullptr  ? std::optional(*whole)
         : flag != nullptr ? std::optional<std::int64_t>(*flag ? 1 : 0)
                           : std::nullopt;
}

Result<Value> calculate_whole(char name, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  const bool overflows = name == '+'   ? __builtin_add_overflow(a, b, &out)
                         : name == '-' ? __builtin_sub_overflow(a, b, &out)
                         : name == '*' ? __builtin_mul_overflow(a, b, &out)
                                       : b == -1 && a == INT64_MIN;
  if (overflows) {
    return fail(ErrorKind::Usage, "a number has more than 64 bits");
  }
  if (name == '|' || name == '%') {  // Python's: the remainder has the divisor's sign
    const std::int64_t rest = a % b;
    const bool is_off = rest != 0 && (rest < 0) != (b < 0);
    return of_int(name == '%' ? rest + (is_off ? b : 0) : a / b - (is_off ? 1 : 0));
  }
  return of_int(out);
}

double calculate_real(char name, double a, double b) {
  switch (name) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    case '|':
      return std::floor(a / b);
    case '%':
      return a - b * std::floor(a / b);
    default:
      return std::pow(a, b);
  }
}

Result<Value> calculate_numbers(std::string_view name, const Value& a, const Value& b) {
  const char letter = name == "//" ? '|' : name == "**" ? '^' : name[0];  // of one letter each
  if ((letter == '/' || letter == '|' || letter == '%') && number_of(b) == 0) {
    return fail(ErrorKind::Usage, "division by zero");
  }
  const auto x = whole_of(a);
  const auto y = whole_of(b);
  if (x && y && letter != '/' && letter != '^') {
    return calculate_whole(letter, *x, *y);
  }
  const double out = calculate_real(letter, number_of(a), number_of(b));
  const bool is_whole = x && y && letter == '^' && *y >= 0 && std::abs(out) < 9e15;
  return is_whole ? of_int(static_cast<std::int64_t>(out)) : Value{out};
}

}  // namespace

Result<Value> attribute_of(const Value& subject, const std::string& name) {
  if (const auto* loop = subject.as<LoopPtr>(); loop != nullptr && !has_method(subject, name)) {
    return loop_attribute(**loop, name);
  }
  if (const auto* space = subject.as<NamespacePtr>()) {
    const Value* found = (*space)->values.find(name);
    return found == nullptr ? undefined(name) : *found;
  }
  if (subject.is_undefined()) {
    return fail(ErrorKind::Usage, fmt::format("'{}' is undefined and has no attribute '{}'",
                                              subject.as<Undefined>()->name, name));
  }
  if (const auto* dict = subject.as<DictPtr>(); dict != nullptr && !has_method(subject, name)) {
    const Value* found = (*dict)->find(name);
    return found == nullptr ? undefined(name) : *found;
  }
  return undefined(name);
}

Result<Value> item_of(const Value& subject, const Value& key) {
  if (const auto* dict = subject.as<DictPtr>(); dict != nullptr && key.text() != nullptr) {
    const Value* found = (*dict)->find(*key.text());
    return found == nullptr ? undefined(*key.text()) : *found;
  }
  if (const auto* list = subject.as<ListPtr>()) {
    const auto place = place_of(key, (*list)->items.size());
    return place ? (*list)->items[*place] : undefined(KEDGE_TRY(str(key)));
  }
  if (const auto* text = subject.text()) {
    const auto parts = characters(*text);
    const auto place = place_of(key, parts.size());
    return place ? of_text(std::string(parts[*place])) : undefined(KEDGE_TRY(str(key)));
  }
  if (key.text() != nullptr) {
    return attribute_of(subject, *key.text());
  }
  if (subject.is_undefined()) {
    return fail(ErrorKind::Usage,
                fmt::format("'{}' is undefined and has no items", subject.as<Undefined>()->name));
  }
  return undefined(KEDGE_TRY(str(key)));
}

Result<Value> slice_of(const Value& subject, const std::vector<const Value*>& bounds) {
  const auto* list = subject.as<ListPtr>();
  const std::string* text = subject.text();
  if (list == nullptr && text == nullptr) {
    return fail(ErrorKind::Usage, fmt::format("'{}' cannot be sliced", type_name(subject)));
  }
  const auto parts = text == nullptr ? std::vector<std::string_view>() : characters(*text);
  const std::size_t size = text == nullptr ? (*list)->items.size() : parts.size();
  const SliceBounds slice = KEDGE_TRY(bounds_of(bounds, static_cast<std::int64_t>(size)));
  std::string joined;
  std::vector<Value> items;
  for (std::int64_t i = slice.begin; slice.step > 0 ? i < slice.end : i > slice.end;
       i += slice.step) {
    const auto place = static_cast<std::size_t>(i);
    if (text != nullptr) {
      joined += parts[place];
    } else {
      items.push_back((*list)->items[place]);
    }
  }
  return text != nullptr ? of_text(std::move(joined))
                         : of_list(std::move(items), (*list)->is_tuple);
}

Result<bool> compare(std::string_view name, const Value& a, const Value& b) {
  if (name == "==" || name == "!=") {
    return are_equal(a, b) == (name == "==");
  }
  if (name == "in" || name == "not in") {
    return KEDGE_TRY(contains(b, a)) == (name == "in");
  }
  const std::partial_ordering order = KEDGE_TRY(order_of(a, b, name));
  return name == "<" ? order < 0 : name == "<=" ? order <= 0 : name == ">" ? order > 0 : order >= 0;
}

Result<Value> calculate(std::string_view name, const Value& a, const Value& b) {
  if (is_number(a) && is_number(b)) {
    return calculate_numbers(name, a, b);
  }
  if (name == "+" && a.text() != nullptr && b.text() != nullptr) {
    if (a.text()->size() + b.text()->size() > kMaxTextBytes) {
      return fail(ErrorKind::Usage, "a text grows beyond 64 MiB");
    }
    return of_text(*a.text() + *b.text());
  }
  const auto* first = a.as<ListPtr>();
  const auto* second = b.as<ListPtr>();
  if (name == "+" && first != nullptr && second != nullptr) {
    std::vector<Value> items = (*first)->items;
    items.insert(items.end(), (*second)->items.begin(), (*second)->items.end());
    return of_list(std::move(items), (*first)->is_tuple);
  }
  const auto is_row = [](const Value& value) {
    return value.text() != nullptr || value.as<ListPtr>() != nullptr;
  };
  if (name == "*" && ((is_row(a) && whole_of(b)) || (is_row(b) && whole_of(a)))) {
    return is_row(a) ? repeated(a, *whole_of(b)) : repeated(b, *whole_of(a));
  }
  return std::unexpected(type_error(name, a, b));
}

}  // namespace kedge::data::jinja
