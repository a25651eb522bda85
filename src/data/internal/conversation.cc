#include "data/internal/conversation.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kedge::data {
namespace {

using config::RecordFormat;

std::unexpected<Error> wrong(std::string what) {
  return fail(ErrorKind::Corrupt, std::move(what));
}

const ChatJson* find(const ChatJson& record, std::string_view key) {
  const auto found = record.find(key);
  return found == record.end() || found->is_null() ? nullptr : &*found;
}

bool has_list(const ChatJson& record, std::string_view key) {
  const ChatJson* value = find(record, key);
  return value != nullptr && value->is_array();
}

// "" where there is no such key, unless it is needed.
Result<std::string> read_text(const ChatJson& record, std::string_view key, bool is_needed) {
  const ChatJson* value = find(record, key);
  if (value == nullptr) {
    return is_needed ? Result<std::string>(wrong(fmt::format("there is no \"{}\"", key))) : "";
  }
  if (!value->is_string()) {
    return wrong(fmt::format("\"{}\" is {}, not text", key, value->type_name()));
  }
  return value->get<std::string>();
}

ChatJson message(std::string_view role, std::string content) {
  return {{"role", role}, {"content", std::move(content)}};
}

// Tools as templates want them: a list of functions. Some write it as a text.
Result<ChatJson> read_tools(const ChatJson& record) {
  const ChatJson* value = find(record, "tools");
  if (value == nullptr || (value->is_string() && value->get_ref<const std::string&>().empty())) {
    return Result<ChatJson>(std::in_place);
  }
  ChatJson tools = value->is_string() ? ChatJson::parse(value->get_ref<const std::string&>(),
                                                        nullptr, /*allow_exceptions=*/false)
                                      : *value;
  if (!tools.is_array()) {
    return wrong("\"tools\" is no list");
  }
  if (tools.empty()) {
    return Result<ChatJson>(std::in_place);
  }
  for (ChatJson& tool : tools) {
    if (tool.is_object() && !tool.contains("function") && tool.contains("name")) {
      tool = ChatJson{{"type", "function"}, {"function", std::move(tool)}};
    }
  }
  return Result<ChatJson>(std::in_place, std::move(tools));
}

// Who speaks in "from" of sharegpt's messages.
std::string_view role_of(std::string_view from) {
  struct Role {
    std::string_view from;
    std::string_view role;
  };

  constexpr std::array<Role, 13> kRoles = {{{"human", "user"},
                                            {"user", "user"},
                                            {"gpt", "assistant"},
                                            {"assistant", "assistant"},
                                            {"model", "assistant"},
                                            {"chatgpt", "assistant"},
                                            {"bing", "assistant"},
                                            {"bard", "assistant"},
                                            {"function_call", "call"},
                                            {"system", "system"},
                                            {"observation", "tool"},
                                            {"function_response", "tool"},
                                            {"tool", "tool"}}};
  const auto* found = std::ranges::find(kRoles, from, &Role::from);
  return found == kRoles.end() ? "" : found->role;
}

Result<ChatJson> read_sharegpt_message(const ChatJson& one) {
  const std::string from = KEDGE_TRY(read_text(one, "from", true));
  std::string value = KEDGE_TRY(read_text(one, "value", true));
  const std::string_view role = role_of(from);
  if (role.empty()) {
    return wrong(
        fmt::format("\"from\" is \"{}\"; it is human, gpt, system, function_call or "
                    "observation",
                    from));
  }
  if (role != "call") {
    return Result<ChatJson>(std::in_place, message(role, std::move(value)));
  }
  ChatJson calls = ChatJson::parse(value, nullptr, /*allow_exceptions=*/false);
  if (calls.is_object()) {
    calls = ChatJson::array({std::move(calls)});
  }
  if (!calls.is_array()) {
    return wrong("the value of \"function_call\" is no JSON");
  }
  ChatJson made = message("assistant", "");
  for (ChatJson& call : calls) {
    made["tool_calls"].push_back({{"type", "function"}, {"function", std::move(call)}});
  }
  return Result<ChatJson>(std::in_place, std::move(made));
}

// A message of either way to write it.
Result<ChatJson> read_message(const ChatJson& one) {
  if (!one.is_object()) {
    return wrong("a message is no object");
  }
  if (one.contains("from")) {
    return read_sharegpt_message(one);
  }
  if (KEDGE_TRY(read_text(one, "role", true)).empty()) {
    return wrong("a message's \"role\" is empty");
  }
  return Result<ChatJson>(std::in_place, one);
}

Result<void> add_messages(const ChatJson& list, ChatJson& messages) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto read = read_message(list[i]);
    if (!read) {
      return wrong(fmt::format("message {}: {}", i + 1, read.error().message));
    }
    messages.push_back(*std::move(read));
  }
  return {};
}

// A text said by `role`, a message, or a list of messages.
Result<void> add_turns(const ChatJson& record, std::string_view key, std::string_view role,
                       ChatJson& messages) {
  const ChatJson* value = find(record, key);
  if (value == nullptr) {
    return wrong(fmt::format("there is no \"{}\"", key));
  }
  if (value->is_string()) {
    messages.push_back(message(role, value->get<std::string>()));
    return {};
  }
  if (!value->is_array() && !value->is_object()) {
    return wrong(fmt::format("\"{}\" is {}, not text or messages", key, value->type_name()));
  }
  return add_messages(value->is_array() ? *value : ChatJson::array({*value}), messages);
}

Result<void> add_system(const ChatJson& record, ChatJson& messages) {
  std::string system = KEDGE_TRY(read_text(record, "system", false));
  if (!system.empty()) {
    messages.push_back(message("system", std::move(system)));
  }
  return {};
}

// What alpaca's records ask: "system", "history" of pairs, "instruction", "input".
Result<void> add_alpaca_question(const ChatJson& record, ChatJson& messages) {
  KEDGE_TRY(add_system(record, messages));
  if (const ChatJson* history = find(record, "history"); history != nullptr) {
    const auto is_pair = [](const ChatJson& turn) {
      return turn.is_array() && turn.size() == 2 && turn[0].is_string() && turn[1].is_string();
    };
    if (!history->is_array() || !std::ranges::all_of(*history, is_pair)) {
      return wrong("\"history\" is no list of pairs of texts");
    }
    for (const ChatJson& turn : *history) {
      messages.push_back(message("user", turn[0].get<std::string>()));
      messages.push_back(message("assistant", turn[1].get<std::string>()));
    }
  }
  std::string question = KEDGE_TRY(read_text(record, "instruction", true));
  const std::string input = KEDGE_TRY(read_text(record, "input", false));
  if (!input.empty()) {
    question += question.empty() ? input : "\n" + input;
  }
  messages.push_back(message("user", std::move(question)));
  return {};
}

bool is_assistants(const ChatJson& message) {
  return message.value("role", "") == "assistant";
}

bool says_something(const ChatJson& message) {
  const ChatJson* content = find(message, "content");
  const bool has_words =
      content != nullptr && !content->empty() &&
      (!content->is_string() ||
       content->get_ref<const std::string&>().find_first_not_of(" \t\r\n") != std::string::npos);
  return has_words || has_list(message, "tool_calls");
}

std::size_t count_assistants(const ChatJson& messages) {
  return static_cast<std::size_t>(std::ranges::count_if(messages, is_assistants));
}

Result<void> check(const Conversation& conversation) {
  if (count_assistants(conversation.messages) <= conversation.given) {
    return wrong("there is no turn of the assistant to learn");
  }
  std::size_t assistants = 0;
  for (std::size_t i = 0; i < conversation.messages.size(); ++i) {
    const ChatJson& one = conversation.messages[i];
    assistants += is_assistants(one) ? 1 : 0;
    if (is_assistants(one) && assistants > conversation.given && !says_something(one)) {
      return wrong(fmt::format("message {}: the assistant says nothing", i + 1));
    }
  }
  return {};
}

Result<void> add_prompt_record(const ChatJson& record, Conversation& conversation) {
  KEDGE_TRY(add_system(record, conversation.messages));
  KEDGE_TRY(add_turns(record, "prompt", "user", conversation.messages));
  conversation.given = count_assistants(conversation.messages);
  KEDGE_TRY(add_turns(record, "completion", "assistant", conversation.messages));
  if (record["prompt"].is_string() && record["completion"].is_string()) {
    conversation.plain = {{.prompt = record["prompt"].get<std::string>(),
                           .completion = record["completion"].get<std::string>()}};
  }
  return {};
}

std::string keys_of(const ChatJson& record) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : record.items()) {
    keys.push_back(key);
  }
  return fmt::format("{}", fmt::join(keys, ", "));
}

// Of a preference record that has no prompt: what both answers begin with.
void move_common_beginning(ChatJson& chosen, ChatJson& rejected, ChatJson& asked) {
  std::size_t common = 0;
  while (common + 1 < std::min(chosen.size(), rejected.size()) &&
         chosen[common] == rejected[common]) {
    asked.push_back(chosen[common++]);
  }
  for (ChatJson* answer : {&chosen, &rejected}) {
    answer->erase(answer->begin(), answer->begin() + static_cast<std::ptrdiff_t>(common));
  }
}

Result<ChatJson> read_question(const ChatJson& record) {
  ChatJson asked = ChatJson::array();
  if (find(record, "instruction") != nullptr) {
    KEDGE_TRY(add_alpaca_question(record, asked));
    return Result<ChatJson>(std::in_place, std::move(asked));
  }
  KEDGE_TRY(add_system(record, asked));
  for (const std::string_view key : {"prompt", "messages", "conversations"}) {
    if (find(record, key) != nullptr) {
      KEDGE_TRY(add_turns(record, key, "user", asked));
      break;
    }
  }
  return Result<ChatJson>(std::in_place, std::move(asked));
}

}  // namespace

Result<ChatJson> parse_record(std::string_view text) {
  ChatJson record = ChatJson::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!record.is_object()) {
    return wrong(record.is_discarded() ? "not JSON" : "not a JSON object");
  }
  return Result<ChatJson>(std::in_place, std::move(record));
}

Result<RecordFormat> detect_format(const ChatJson& record) {
  if (has_list(record, "messages")) {
    return RecordFormat::Messages;
  }
  if (has_list(record, "conversations")) {
    return RecordFormat::Sharegpt;
  }
  if (record.contains("prompt") && record.contains("completion")) {
    return RecordFormat::Prompt;
  }
  if (record.contains("instruction") && record.contains("output")) {
    return RecordFormat::Alpaca;
  }
  return wrong(
      fmt::format("its keys are {}, which no format has: alpaca has instruction and "
                  "output, sharegpt conversations, messages messages, prompt prompt and "
                  "completion",
                  keys_of(record)));
}

Result<Conversation> read_conversation(const ChatJson& record, RecordFormat format) {
  Conversation conversation;
  ChatJson& messages = conversation.messages;
  switch (format) {
    case RecordFormat::Alpaca:
      KEDGE_TRY(add_alpaca_question(record, messages));
      messages.push_back(message("assistant", KEDGE_TRY(read_text(record, "output", true))));
      break;
    case RecordFormat::Prompt:
      KEDGE_TRY(add_prompt_record(record, conversation));
      break;
    case RecordFormat::Sharegpt:
    case RecordFormat::Messages: {
      const std::string_view key = format == RecordFormat::Sharegpt ? "conversations" : "messages";
      if (!has_list(record, key)) {
        return wrong(fmt::format("there is no list \"{}\"", key));
      }
      KEDGE_TRY(add_system(record, messages));
      KEDGE_TRY(add_messages(record[key], messages));
      break;
    }
    case RecordFormat::Auto:
      return read_conversation(record, KEDGE_TRY(detect_format(record)));
  }
  conversation.tools = KEDGE_TRY(read_tools(record));
  KEDGE_TRY(check(conversation));
  return conversation;
}

Result<PreferencePair> read_preference(const ChatJson& record) {
  ChatJson asked = KEDGE_TRY(read_question(record));
  ChatJson chosen = ChatJson::array();
  ChatJson rejected = ChatJson::array();
  KEDGE_TRY(add_turns(record, "chosen", "assistant", chosen));
  KEDGE_TRY(add_turns(record, "rejected", "assistant", rejected));
  if (asked.empty()) {
    move_common_beginning(chosen, rejected, asked);
  }
  if (asked.empty()) {
    return wrong(
        "there is no question: \"prompt\", \"messages\", \"conversations\" or "
        "\"instruction\"");
  }
  if (chosen == rejected) {
    return wrong("\"chosen\" and \"rejected\" say the same");
  }
  const ChatJson tools = KEDGE_TRY(read_tools(record));
  const auto join = [&](const ChatJson& answer) {
    Conversation whole{.messages = asked, .tools = tools, .given = count_assistants(asked)};
    whole.messages.insert(whole.messages.end(), answer.begin(), answer.end());
    return whole;
  };
  PreferencePair pair{.chosen = join(chosen), .rejected = join(rejected)};
  if (find(record, "prompt") != nullptr && record["prompt"].is_string() &&
      record["chosen"].is_string() && record["rejected"].is_string()) {
    const auto prompt = record["prompt"].get<std::string>();
    pair.chosen.plain = {{.prompt = prompt, .completion = record["chosen"].get<std::string>()}};
    pair.rejected.plain = {{.prompt = prompt, .completion = record["rejected"].get<std::string>()}};
  }
  KEDGE_TRY(check(pair.chosen));
  KEDGE_TRY(check(pair.rejected));
  return pair;
}

}  // namespace kedge::data
