#include "data/chat/chat_template.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/hash.h"
#include "data/chat/internal/jinja_render.h"
#include "data/chat/internal/jinja_syntax.h"

namespace kedge::data {

struct ChatTemplate::Parts {
  std::string where;
  std::string digest;
  jinja::Body body;
};

namespace {

using jinja::DictPtr;
using jinja::Rendering;
using jinja::Value;

// The variables of a conversation; its messages and tools are converted once for all renderings.
struct Prepared {
  std::vector<Value> messages;
  Value tools;
  std::vector<std::pair<std::string, Value>> others;
  jinja::Surroundings surroundings;

  static Result<Prepared> of(const ChatInput& input) {
    Prepared made;
    if (!input.messages.is_array()) {
      return fail(ErrorKind::Usage, "messages are not a list");
    }
    for (const ChatJson& message : input.messages) {
      made.messages.push_back(KEDGE_TRY(jinja::of_json(message)));
      if (made.messages.back().as<DictPtr>() == nullptr) {
        return fail(ErrorKind::Usage,
                    fmt::format("message {} is not an object", made.messages.size()));
      }
    }
    made.tools = KEDGE_TRY(jinja::of_json(input.tools));
    made.others = {{"documents", {jinja::None{}}},
                   {"bos_token", jinja::of_text(input.bos_token)},
                   {"eos_token", jinja::of_text(input.eos_token)}};
    for (const auto& [name, value] : input.variables.items()) {
      std::erase_if(made.others, [&](const auto& other) { return other.first == name; });
      made.others.emplace_back(name, KEDGE_TRY(jinja::of_json(value)));
    }
    made.surroundings.now_s = input.now_s;
    return made;
  }

  Result<Rendering> render(const jinja::Body& body, std::size_t count, bool add_prompt,
                           bool watch = false) const {
    return render_messages(body, {messages.begin(), messages.begin() + static_cast<long>(count)},
                           add_prompt, watch);
  }

  Result<Rendering> render_messages(const jinja::Body& body, std::vector<Value> shown,
                                    bool add_prompt, bool watch) const {
    jinja::RenderOptions options{.variables = others, .surroundings = surroundings};
    for (const Value& message : shown) {
      if (watch) {
        options.watched.push_back(*message.as<DictPtr>());
      }
    }
    options.variables.emplace_back("messages", jinja::of_list(std::move(shown)));
    options.variables.emplace_back("tools", tools);
    options.variables.emplace_back("add_generation_prompt", jinja::of_bool(add_prompt));
    return jinja::render(body, options);
  }
};

bool is_assistant(const Value& message) {
  const Value* role = (*message.as<DictPtr>())->find("role");
  return role != nullptr && role->text() != nullptr && *role->text() == "assistant";
}

// What is printed after a user's message for the assistant to go on with; it may be empty. Nothing
// where that cannot be told: the template wants another conversation, or prints messages all at
// once.
std::optional<std::string> find_header(const jinja::Body& body, const Prepared& chat) {
  auto user = std::make_shared<jinja::Dict>();
  user->set("role", jinja::of_text("user"));
  user->set("content", jinja::of_text("a"));
  const auto shown =
      chat.render_messages(body, {Value{DictPtr(std::move(user))}}, true, /*watch=*/true);
  if (!shown || !shown->watched[0]) {
    return {};
  }
  return shown->text.substr(shown->watched[0]->end);
}

Error not_marked(std::size_t message, std::string_view why) {
  return {ErrorKind::Usage,
          fmt::format("what the assistant says in message {} cannot be told: {}", message + 1, why),
          "put {% generation %} and {% endgeneration %} around it in a copy of the template and "
          "name that file; or train on all text"};
}

Result<std::size_t> find_end(const jinja::Body& body, const Prepared& chat, const Rendering& whole,
                             std::size_t i) {
  if (whole.watched[i]) {
    return whole.watched[i]->end;
  }
  const Rendering with = KEDGE_TRY(chat.render(body, i + 1, false));
  if (!whole.text.starts_with(with.text)) {
    return std::unexpected(not_marked(i, "the template prints it together with what follows"));
  }
  return with.text.size();
}

// The bytes of the assistant's turn `i` in the whole text.
Result<ChatSpan> find_turn(const jinja::Body& body, const Prepared& chat, const Rendering& whole,
                           std::size_t i, const std::optional<std::string>& header) {
  const auto& printed = whole.watched[i];
  const std::size_t end = KEDGE_TRY(find_end(body, chat, whole, i));
  // A first turn may have a default system message before it.
  const std::size_t place =
      printed && header
          ? std::string_view(whole.text).substr(printed->begin, end - printed->begin).find(*header)
          : std::string::npos;
  if (place == 0 || (i == 0 && place != std::string::npos)) {
    return ChatSpan{printed->begin + place + header->size(), end};
  }
  const auto before = chat.render(body, i, true);
  if (before && whole.text.starts_with(before->text) && before->text.size() <= end &&
      (!printed || before->text.size() >= printed->begin)) {
    return ChatSpan{before->text.size(), end};
  }
  return std::unexpected(
      not_marked(i, "its text does not begin with what add_generation_prompt prints"));
}

Result<RenderedChat> mark(const jinja::Body& body, const Prepared& chat) {
  Rendering whole = KEDGE_TRY(chat.render(body, chat.messages.size(), false, /*watch=*/true));
  RenderedChat marked;
  for (const jinja::Stretch& stretch : whole.generations) {
    marked.generated.push_back({stretch.begin, stretch.end});
  }
  if (whole.generations.empty()) {
    const auto header = find_header(body, chat);
    for (std::size_t i = 0; i < chat.messages.size(); ++i) {
      if (is_assistant(chat.messages[i])) {
        marked.generated.push_back(KEDGE_TRY(find_turn(body, chat, whole, i, header)));
      }
    }
  }
  marked.text = std::move(whole.text);
  return marked;
}

// With the template's name before the line.
template <typename T>
Result<T> named(const std::string& where, Result<T> result) {
  if (!result) {
    return fail(result.error().kind, fmt::format("{}: {}", where, result.error().message),
                result.error().hint);
  }
  return result;
}

}  // namespace

Result<ChatTemplate> ChatTemplate::parse(std::string_view text, std::string_view where) {
  auto parts = std::make_shared<Parts>();
  parts->where = where;
  Digest digest;
  digest.add(text);
  parts->digest = digest.text();
  parts->body = KEDGE_TRY(named(parts->where, jinja::parse_template(text)));
  return ChatTemplate(std::move(parts));
}

Result<std::string> ChatTemplate::render(const ChatInput& input) const {
  const auto render_all = [&]() -> Result<Rendering> {
    const Prepared chat = KEDGE_TRY(Prepared::of(input));
    return chat.render(parts_->body, chat.messages.size(), input.add_generation_prompt);
  };
  return KEDGE_TRY(named(parts_->where, render_all())).text;
}

Result<RenderedChat> ChatTemplate::render_marked(const ChatInput& input) const {
  const auto mark_all = [&]() -> Result<RenderedChat> {
    const Prepared chat = KEDGE_TRY(Prepared::of(input));
    return mark(parts_->body, chat);
  };
  return named(parts_->where, mark_all());
}

const std::string& ChatTemplate::digest() const {
  return parts_->digest;
}

}  // namespace kedge::data
