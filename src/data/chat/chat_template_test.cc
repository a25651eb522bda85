// The expected texts are jinja2's, by tools/golden/chat.py.
#include "data/chat/chat_template.h"

#include <string>

#include <gtest/gtest.h>

#include "core/file.h"

namespace kedge::data {
namespace {

const Path kFolder = Path(KEDGE_FIXTURES) / "data" / "chat";

const ChatJson& golden() {
  static const ChatJson kGolden = ChatJson::parse(*read_file(kFolder / "cases.json"));
  return kGolden;
}

ChatTemplate parsed(std::string_view text) {
  auto made = ChatTemplate::parse(text, "chat_template.jinja");
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

ChatTemplate parsed_file(const std::string& name) {
  return parsed(*read_file(kFolder / name));
}

Result<std::string> rendered(const std::string& text, const ChatInput& input) {
  const auto made = ChatTemplate::parse(text, "my.jinja");
  return made ? made->render(input) : std::unexpected(made.error());
}

// What the assistant says, by the marks.
std::vector<std::string> said(const ChatTemplate& chat, const ChatInput& input) {
  const auto marked = chat.render_marked(input);
  EXPECT_TRUE(marked) << marked.error().message;
  std::vector<std::string> texts;
  if (marked) {
    EXPECT_EQ(marked->text, *chat.render(input));
    for (const ChatSpan& span : marked->generated) {
      texts.push_back(marked->text.substr(span.begin, span.end - span.begin));
    }
  }
  return texts;
}

void expect_rendered(const Result<std::string>& text, const ChatJson& wanted,
                     const std::string& what) {
  if (!wanted.contains("text")) {
    EXPECT_FALSE(text) << what << "\nshould be refused: " << wanted["refused"];
    return;
  }
  ASSERT_TRUE(text) << what << '\n' << text.error().message;
  EXPECT_EQ(*text, wanted["text"].get<std::string>()) << what;
}

TEST(ChatTemplate, real_templates_render_as_in_transformers) {
  for (const ChatJson& wanted : golden()["conversations"]) {
    const auto file = wanted["file"].get<std::string>();
    const auto name = wanted["messages"].get<std::string>();
    const ChatInput input{.messages = golden()["messages"][name],
                          .tools = wanted["tools"].get<bool>() ? golden()["tools"] : ChatJson(),
                          .add_generation_prompt = wanted["prompt"].get<bool>(),
                          .bos_token = "<s>",
                          .eos_token = "</s>"};
    expect_rendered(parsed_file(file).render(input), wanted, file + ": " + name);
  }
}

TEST(ChatTemplate, every_construct_renders_as_in_jinja2) {
  for (const ChatJson& wanted : golden()["snippets"]) {
    const auto text = wanted["template"].get<std::string>();
    const ChatInput input{.messages = golden()["messages"]["multi"],
                          .variables = golden()["variables"]};
    expect_rendered(rendered(text, input), wanted, text);
  }
}

TEST(ChatTemplate, what_is_not_known_or_does_not_end_is_refused_by_name_and_line) {
  for (const ChatJson& wanted : golden()["refused"]) {
    const auto text = wanted["template"].get<std::string>();
    const ChatInput input{.messages = golden()["messages"]["multi"],
                          .variables = golden()["variables"]};
    const auto refused = rendered(text, input);
    ASSERT_FALSE(refused) << text.substr(0, 80);
    const std::string& message = refused.error().message;
    EXPECT_TRUE(message.starts_with("my.jinja: line ")) << message;
    EXPECT_TRUE(message.contains(wanted["says"].get<std::string>())) << message;
  }
}

TEST(ChatTemplate, turns_of_the_assistant_are_marked_without_header_and_with_their_end) {
  const ChatInput input{.messages = golden()["messages"]["multi"]};
  const std::vector<std::string> wanted = {"b<|im_end|>\n", "e<|im_end|>\n", "g<|im_end|>\n"};
  EXPECT_EQ(said(parsed_file("smollm2.jinja"), input), wanted);
  EXPECT_EQ(said(parsed_file("qwen2_5.jinja"), input), wanted);
}

TEST(ChatTemplate, a_template_that_prints_older_turns_in_another_way_is_marked_as_it_prints) {
  const ChatInput input{.messages = golden()["messages"]["thinking"]};
  EXPECT_EQ(
      said(parsed_file("qwen3.jinja"), input),
      (std::vector<std::string>{"b<|im_end|>\n", "<think>\nmore\n</think>\n\nd<|im_end|>\n"}));
}

TEST(ChatTemplate, calls_of_tools_are_what_the_assistant_says) {
  const ChatInput input{.messages = golden()["messages"]["tools"], .tools = golden()["tools"]};
  EXPECT_EQ(said(parsed_file("qwen2_5.jinja"), input),
            (std::vector<std::string>{
                "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"K\u00f6ln\", "
                "\"days\": 3}}\n</tool_call><|im_end|>\n",
                "It is 21.5<|im_end|>\n", "np<|im_end|>\n"}));
}

TEST(ChatTemplate, a_first_turn_of_the_assistant_stands_behind_the_default_system_message) {
  const ChatInput input{.messages = golden()["messages"]["assistant first"]};
  EXPECT_EQ(said(parsed_file("smollm2.jinja"), input),
            (std::vector<std::string>{"hello<|im_end|>\n", "c<|im_end|>\n"}));
}

// As Mistral's: no header, and the system message stands before the last user's.
TEST(ChatTemplate, turns_without_a_header_are_marked) {
  const ChatTemplate chat = parsed(
      "{{ bos_token }}{% for message in messages %}{% if message.role == 'user' %}[INST] "
      "{{ 'sys ' if loop.revindex <= 2 }}{{ message.content }} [/INST]{% else %}"
      "{{ message.content + eos_token }}{% endif %}{% endfor %}");
  EXPECT_EQ(said(chat, {.messages = golden()["messages"]["no system"], .eos_token = "</s>"}),
            (std::vector<std::string>{"b</s>", "d {{ x }} {% if %}</s>"}));
}

// As the first Llama 3's, whatever add_generation_prompt is.
TEST(ChatTemplate, a_header_that_is_always_printed_is_no_part_of_a_turn) {
  const ChatTemplate chat = parsed(
      "{% for message in messages %}{{ '<' + message.role + '>' + message.content + '.' }}"
      "{% endfor %}{{ '<assistant>' }}");
  EXPECT_EQ(said(chat, {.messages = golden()["messages"]["pair"]}),
            (std::vector<std::string>{"  Hi!  ."}));
}

TEST(ChatTemplate, generation_says_what_is_marked) {
  const ChatTemplate chat = parsed(
      "{% for message in messages %}{{ message.role }}: {% generation %}{{ message.content }}"
      "{% endgeneration %}{% endfor %}");
  EXPECT_EQ(said(chat, {.messages = golden()["messages"]["pair"]}),
            (std::vector<std::string>{" Hello\n there ", "  Hi!  "}));
}

TEST(ChatTemplate, turns_of_a_text_that_is_made_at_once_are_found_by_its_beginnings) {
  const ChatTemplate chat = parsed(
      "{% set all %}{% for message in messages %}{{ message.role }}:{{ message.content }};"
      "{% endfor %}{% endset %}{{ all }}{{ 'assistant:' if add_generation_prompt }}");
  EXPECT_EQ(said(chat, {.messages = golden()["messages"]["no system"]}),
            (std::vector<std::string>{"b;", "d {{ x }} {% if %};"}));
}

TEST(ChatTemplate, turns_that_cannot_be_told_are_refused_with_what_to_do) {
  const ChatTemplate chat = parsed(
      "{% set all %}{% for message in messages %}{{ message.content }}{% endfor %}{% endset %}"
      "{{ all | length }}{{ all }}");
  const auto marked = chat.render_marked({.messages = golden()["messages"]["no system"]});
  ASSERT_FALSE(marked);
  EXPECT_TRUE(marked.error().message.contains("message 2")) << marked.error().message;
  EXPECT_TRUE(marked.error().hint.contains("{% generation %}"));
}

TEST(ChatTemplate, the_date_is_given_or_not_defined) {
  const ChatTemplate chat =
      parsed("{{ strftime_now('%d %b %Y') if strftime_now is defined else 'no date' }}");
  EXPECT_EQ(*chat.render({}), "no date");
  EXPECT_EQ(*chat.render({.now_s = 1795068000}), "19 Nov 2026");
}

}  // namespace
}  // namespace kedge::data
