#include "use/internal/choice_items.h"

#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kedge::use {
namespace {

using nlohmann::json;

std::unexpected<Error> bad(const std::string& place, std::string_view what) {
  return fail(
      ErrorKind::Usage, fmt::format("{}: {}", place, what),
      "a record is {\"context\": text, \"choices\": [texts], \"answer\": number from 0}, or "
      "{\"context\": text, \"continuation\": text}");
}

const json* find_either(const json& record, const char* name, const char* other) {
  const auto found = record.contains(name) ? record.find(name) : record.find(other);
  return found == record.end() ? nullptr : &*found;
}

Result<void> read_answers(const json& record, ChoiceItem& item) {
  const json& choices = record["choices"];
  if (!choices.is_array() || choices.size() < 2) {
    return bad(item.place, "\"choices\" must be a list of two texts or more");
  }
  for (const json& choice : choices) {
    if (!choice.is_string() || choice.get_ref<const std::string&>().empty()) {
      return bad(item.place, fmt::format("choice {} is no text", item.choices.size()));
    }
    item.choices.push_back(choice.get<std::string>());
  }
  const json* answer = find_either(record, "answer", "gold");
  if (answer == nullptr || !answer->is_number_integer()) {
    return bad(item.place, "\"answer\" must be the number of a choice");
  }
  item.answer = answer->get<std::int64_t>();
  if (item.answer < 0 || item.answer >= std::ssize(item.choices)) {
    return bad(item.place, fmt::format("\"answer\" is {}, but there are choices 0 to {}",
                                       item.answer, item.choices.size() - 1));
  }
  return {};
}

Result<ChoiceItem> read_item(const std::string& line, std::string place, ItemsKind& kind) {
  ChoiceItem item{.place = std::move(place)};
  const json record = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!record.is_object()) {
    return bad(item.place, "not a JSON object");
  }
  const json* context = find_either(record, "context", "query");
  if (context == nullptr || !context->is_string()) {
    return bad(item.place, "no text under \"context\"");
  }
  item.context = context->get<std::string>();
  if (const auto id = record.find("id"); id != record.end()) {
    item.id = id->is_string() ? id->get<std::string>() : id->dump();
  }
  kind = record.contains("choices") ? ItemsKind::Choices : ItemsKind::Continuations;
  if (kind == ItemsKind::Choices) {
    KEDGE_TRY(read_answers(record, item));
    return item;
  }
  const json continuation = record.value("continuation", json());
  if (!continuation.is_string() || continuation.get_ref<const std::string&>().empty()) {
    return bad(item.place, "neither \"choices\" nor a text under \"continuation\"");
  }
  item.choices = {continuation.get<std::string>()};
  return item;
}

}  // namespace

Result<ChoiceFile> read_choices(const Path& file) {
  std::istringstream lines(KEDGE_TRY(read_file(file)));
  ChoiceFile found;
  std::set<std::string> ids;
  std::string line;
  for (std::int64_t number = 1; std::getline(lines, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    const std::string place = fmt::format("{}:{}", file.string(), number);
    ItemsKind kind = {};
    ChoiceItem item = KEDGE_TRY(read_item(line, place, kind));
    if (item.id.empty()) {
      item.id = std::to_string(number);
    }
    if (!found.items.empty() && kind != found.kind) {
      return bad(place, "records with \"choices\" and with \"continuation\" are mixed");
    }
    if (!ids.insert(item.id).second) {
      return bad(place, fmt::format("the id {} is another record's too", item.id));
    }
    found.kind = kind;
    found.items.push_back(std::move(item));
  }
  if (found.items.empty()) {
    return fail(ErrorKind::NotFound, fmt::format("there are no records in {}", file.string()));
  }
  return found;
}

namespace {

// What stands before a text that begins with nothing.
std::optional<std::int64_t> first_token(const LanguageModel& model) {
  const auto begin = encode_text(model, "", /*special_tokens=*/true, /*add_around=*/true);
  if (begin && !begin->empty()) {
    return begin->front();
  }
  return model.end_ids.empty() ? std::nullopt : std::optional(model.end_ids.front());
}

Result<Passage> passage_of(const LanguageModel& model, const std::string& context,
                           const std::string& choice) {
  const auto encode = [&](const std::string& text) {
    return encode_text(model, text, /*special_tokens=*/true, /*add_around=*/true);
  };
  Passage passage{.ids = KEDGE_TRY(encode(context + choice))};
  auto given = std::ssize(KEDGE_TRY(encode(context)));
  if (given == 0) {
    const auto first = first_token(model);
    if (!first) {
      return fail(ErrorKind::Usage,
                  "the context is empty, and the model has no token to begin with");
    }
    passage.ids.insert(passage.ids.begin(), *first);
    given = 1;
  }
  passage.scored = std::ssize(passage.ids) - given;
  if (passage.scored < 1) {
    return fail(ErrorKind::Usage, fmt::format("'{}' has no tokens of its own", choice));
  }
  const std::int64_t longest = model.decoder->longest();
  if (passage.scored > longest) {
    return fail(ErrorKind::Usage, fmt::format("'{:.40}...' has {} tokens, the model takes {}",
                                              choice, passage.scored, longest));
  }
  if (const std::int64_t beyond = std::ssize(passage.ids) - longest - 1; beyond > 0) {
    passage.ids.erase(passage.ids.begin(), passage.ids.begin() + beyond);
  }
  return passage;
}

}  // namespace

Result<std::vector<Passage>> passages_of(const LanguageModel& model, const ChoiceItem& item,
                                         const std::string& delimiter) {
  const std::size_t end = item.context.find_last_not_of(" \t\n\v\f\r") + 1;
  const std::string context = item.context.substr(0, end);
  const std::string between = item.context.substr(end) + delimiter;
  std::vector<Passage> passages;
  for (const std::string& choice : item.choices) {
    auto passage = passage_of(model, context, between + choice);
    if (!passage) {
      return fail(passage.error().kind, item.place + ": " + passage.error().message);
    }
    passages.push_back(std::move(*passage));
  }
  return passages;
}

}  // namespace kedge::use
