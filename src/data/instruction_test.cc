// Records become samples: with small tokenizers and templates, what is learnt of them is read back
// as text, between "{+" and "+}".
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/data_config.h"
#include "core/file.h"
#include "core/scratch_folder.h"
#include "data/dataset.h"
#include "data/internal/fake_files.h"
#include "data/internal/packing.h"
#include "data/internal/record_file.h"
#include "data/sample_text.h"

namespace kedge::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The tokenizer of the fixture knows "<s>" and "<|end|>" and puts a "<s>" before texts.
constexpr const char* kTemplate =
    "{{ '<s>' }}{% for m in messages %}{{ m['role'] }}\n{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}assistant\n{% endif %}";

constexpr const char* kHello = R"({"messages": [{"role": "user", "content": "Hello"}, )"
                               R"({"role": "assistant", "content": "Hi"}]})";

class Instructions : public testing::Test {
 protected:
  Instructions() {
    must_write(folder_ / "chat.jinja", kTemplate);
    config_.name = "chat";
    config_.path = (folder_ / "records.jsonl").string();
    config_.tokenizer = std::string(KEDGE_FIXTURES) + "/data/tokenizers/llama3.json";
    config_.chat_template = (folder_ / "chat.jinja").string();
    config_.context = 128;
  }

  void write(const std::string& text, const std::string& name = "records.jsonl") {
    must_write(folder_ / name, text);
    config_.path = (folder_ / name).string();
  }

  std::unique_ptr<Dataset> open() const {
    auto splits = open_source(config_);
    EXPECT_TRUE(splits) << splits.error().message;
    return splits ? std::move(splits->train) : nullptr;
  }

  Error error() const {
    const auto splits = open_source(config_);
    EXPECT_FALSE(splits);
    return splits ? Error{} : splits.error();
  }

  // One record a sample, without what is said of the padding.
  std::string shown(const std::string& record) {
    write(record);
    config_.pack = false;
    const auto dataset = open();
    const auto text = dataset == nullptr ? Result<std::string>("") : render_sample(*dataset, 0);
    return text ? text->substr(0, text->find("\n--- ")) : text.error().message;
  }

  std::string notes() const {
    const auto dataset = open();
    std::string all;
    for (const std::string& note : dataset->info().notes) {
      all += note + "\n";
    }
    return all;
  }

  const ScratchFolder folder_;
  config::DataConfig config_;
};

template <typename T>
std::vector<T> row(const Dataset& dataset, std::int64_t index, std::string_view name) {
  Sample sample;
  EXPECT_TRUE(dataset.read(index, sample));
  const auto& fields = dataset.info().fields;
  const FieldInfo* field = find_field(fields, name);
  const auto& bytes = sample.rows[static_cast<std::size_t>(field - fields.data())];
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST_F(Instructions, only_what_the_assistant_says_is_learnt_with_what_ends_it) {
  EXPECT_EQ(
      shown(R"({"messages": [{"role": "system", "content": "Be kind."}, )"
            R"({"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}, )"
            R"({"role": "user", "content": "More"}, {"role": "assistant", "content": "Yes"}]})"),
      "<s>system\nBe kind.<|end|>user\nHello<|end|>assistant\n{+Hi<|end|>+}"
      "user\nMore<|end|>assistant\n{+Yes<|end|>+}");
}

TEST_F(Instructions, every_format_says_the_same) {
  const std::string wanted = "<s>user\nHello<|end|>assistant\n{+Hi<|end|>+}";
  EXPECT_EQ(shown(kHello), wanted);
  EXPECT_EQ(shown(R"({"instruction": "Hello", "input": "", "output": "Hi"})"), wanted);
  EXPECT_EQ(shown(R"({"conversations": [{"from": "human", "value": "Hello"}, )"
                  R"({"from": "gpt", "value": "Hi"}]})"),
            wanted);
  EXPECT_EQ(shown(R"({"prompt": "Hello", "completion": "Hi"})"), wanted);
  EXPECT_EQ(shown(R"({"prompt": [{"role": "user", "content": "Hello"}], )"
                  R"("completion": [{"role": "assistant", "content": "Hi"}]})"),
            wanted);
}

TEST_F(Instructions, alpacas_input_history_and_system_are_said) {
  EXPECT_EQ(shown(R"({"instruction": "Add", "input": "1 2", "output": "3", "system": "Sum", )"
                  R"("history": [["a", "b"]]})"),
            "<s>system\nSum<|end|>user\na<|end|>assistant\n{+b<|end|>+}user\nAdd\n1 2<|end|>"
            "assistant\n{+3<|end|>+}");
}

TEST_F(Instructions, turns_in_a_prompt_are_not_learnt) {
  EXPECT_EQ(shown(R"({"prompt": [{"role": "user", "content": "a"}, )"
                  R"({"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}], )"
                  R"("completion": [{"role": "assistant", "content": "d"}]})"),
            "<s>user\na<|end|>assistant\nb<|end|>user\nc<|end|>assistant\n{+d<|end|>+}");
}

TEST_F(Instructions, tools_and_calls_reach_the_template) {
  must_write(folder_ / "chat.jinja",
             "{% for t in tools %}{{ t.function.name }};{% endfor %}{% for m in messages %}"
             "{{ m.role }}\n{{ m.content }}{% for c in m.tool_calls or [] %}"
             "{{ c.function.name }}{% endfor %}<|end|>{% endfor %}"
             "{% if add_generation_prompt %}assistant\n{% endif %}");
  EXPECT_EQ(
      shown(R"({"conversations": [{"from": "human", "value": "t"}, )"
            R"({"from": "function_call", "value": "{\"name\": \"now\", \"arguments\": {}}"}, )"
            R"({"from": "observation", "value": "9"}, {"from": "gpt", "value": "9!"}], )"
            R"("tools": "[{\"name\": \"now\"}]"})"),
      "now;user\nt<|end|>assistant\n{+now<|end|>+}tool\n9<|end|>assistant\n{+9!<|end|>+}");
}

TEST_F(Instructions, all_can_be_learnt_but_the_first_token) {
  config_.train_on = config::TrainOn::All;
  EXPECT_EQ(shown(kHello), "<s>{+user\nHello<|end|>assistant\nHi<|end|>+}");
}

TEST_F(Instructions, without_a_template_pairs_are_plain_text_and_their_end_is_learnt) {
  config_.chat_template = "";
  write(R"({"prompt": "Hello", "completion": " there"})");
  config_.pack = false;
  const auto dataset = open();
  ASSERT_NE(dataset, nullptr);
  EXPECT_THAT(*render_sample(*dataset, 0), testing::StartsWith("<s>Hello{+ there+}"));
  write(kHello);
  EXPECT_THAT(error().message, HasSubstr("records.jsonl:1: the tokenizer has no chat template"));
}

TEST_F(Instructions, padding_counts_for_nothing_whatever_its_id) {
  shown(kHello);
  const auto dataset = open();
  const auto tokens = row<std::int32_t>(*dataset, 0, kTokens);
  const auto mask = row<std::uint8_t>(*dataset, 0, kLossMask);
  ASSERT_EQ(tokens.size(), 129U);
  ASSERT_EQ(mask.size(), 128U);
  const auto last = std::find(mask.rbegin(), mask.rend(), 1);
  EXPECT_TRUE(std::all_of(tokens.end() - (last - mask.rbegin()), tokens.end(),
                          [](std::int32_t id) { return id == 0; }));
  EXPECT_EQ(find_field(dataset->info().fields, kDocuments), nullptr);
}

TEST_F(Instructions, packed_documents_are_told_apart_and_never_predict_each_other) {
  write(std::string(kHello) + "\n" + kHello + "\n" + kHello);
  const auto dataset = open();
  ASSERT_EQ(dataset->size(), 1);
  const auto mask = row<std::uint8_t>(*dataset, 0, kLossMask);
  const auto documents = row<std::int32_t>(*dataset, 0, kDocuments);
  const auto tokens = row<std::int32_t>(*dataset, 0, kTokens);
  EXPECT_TRUE(std::ranges::is_sorted(documents));
  EXPECT_EQ(documents.back(), 3) << "padding is one further document";
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (i + 1 < documents.size() && documents[i] != documents[i + 1]) {
      EXPECT_EQ(mask[i], 0) << "the next document's first token, at " << i;
    }
  }
  // Each counts as much as alone.
  config_.pack = false;
  const auto alone = row<std::uint8_t>(*open(), 0, kLossMask);
  EXPECT_EQ(std::ranges::count(mask, 1), 3 * std::ranges::count(alone, 1));
  EXPECT_EQ(dataset->name(0), "records.jsonl:1 and 2 more");
}

TEST_F(Instructions, a_record_that_is_too_long_is_refused_cut_or_skipped) {
  config_.context = 30;
  const std::string is_long = R"({"messages": [{"role": "user", "content": "Hello"}, )"
                              R"({"role": "assistant", "content": "Hi, I am here to help you"}]})";
  write(std::string(kHello) + "\n" + is_long);
  EXPECT_THAT(error().message, HasSubstr("records.jsonl:2: the record has "));
  EXPECT_THAT(error().message, HasSubstr("data.context=30 takes 31"));
  EXPECT_THAT(error().hint, HasSubstr("data.too_long"));
  config_.too_long = config::TooLong::Skip;
  EXPECT_EQ(open()->size(), 1);
  EXPECT_THAT(notes(), HasSubstr("1 records; left out: 1 too long"));
  config_.too_long = config::TooLong::Cut;
  EXPECT_EQ(open()->size(), 2);
  EXPECT_THAT(notes(), HasSubstr("2 records, 1 of them cut"));
}

TEST_F(Instructions, broken_records_are_named_with_their_line) {
  const std::map<std::string, std::string> wrong = {
      {"{\"messages\": [", "not JSON"},
      {"[]", "not a JSON object"},
      {R"({"messages": []})", "there is no turn of the assistant"},
      {R"({"messages": [{"role": "user", "content": "a"}]})", "there is no turn of the assistant"},
      {R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": " "}]})",
       "message 2: the assistant says nothing"},
      {R"({"messages": [{"content": "a"}]})", "message 1: there is no \"role\""},
      {R"({"other": 1})", "there is no list \"messages\""}};
  for (const auto& [record, what] : wrong) {
    write(std::string(kHello) + "\n\n" + record + "\n");
    EXPECT_THAT(error().message, HasSubstr("records.jsonl:3: " + what)) << record;
    EXPECT_THAT(error().hint, HasSubstr("data.on_error=skip"));
  }
  config_.on_error = config::OnError::Skip;
  EXPECT_EQ(open()->size(), 1);
  EXPECT_THAT(notes(), HasSubstr("1 broken ("));
  write(R"({"other": 1})");
  EXPECT_THAT(error().message, HasSubstr("no record of "));
  EXPECT_THAT(error().message, HasSubstr("which no format has"));
}

TEST_F(Instructions, lists_of_records_are_named_by_their_lines_too) {
  write(std::string("[\n  ") + kHello + ",\n  {\"messages\": [\n  ]}\n]", "records.json");
  EXPECT_THAT(error().message, HasSubstr("records.json:3: there is no turn"));
  write(std::string("[\n") + kHello + ",\n", "records.json");
  EXPECT_THAT(error().message, HasSubstr("records.json:3: the list does not end"));
}

TEST_F(Instructions, a_bos_that_stands_twice_is_refused_by_name) {
  must_write(folder_ / "chat.jinja", std::string("<s>") + kTemplate);
  write(kHello);
  EXPECT_THAT(error().message, HasSubstr("records.jsonl:1: it begins with '<s>' twice"));
}

TEST_F(Instructions, what_the_tokens_came_about_with_is_in_the_digest) {
  write(kHello);
  const std::string first = open()->digest();
  EXPECT_EQ(open()->digest(), first);
  const auto differs = [&](const std::string& what) {
    const std::string now = open()->digest();
    EXPECT_NE(now, first) << what;
  };
  config_.context = 32;
  differs("context");
  config_.context = 128;
  config_.pack = false;
  differs("packing");
  config_.pack = true;
  config_.train_on = config::TrainOn::All;
  differs("what is learnt");
  config_.train_on = config::TrainOn::Assistant;
  must_write(folder_ / "chat.jinja", std::string(kTemplate) + "{# a comment #}");
  differs("template");
}

TEST_F(Instructions, other_names_for_it_lead_there) {
  write(kHello);
  config_.name = "sft";
  EXPECT_THAT(error().message, HasSubstr("did you mean 'chat'?"));
  config_.name = "dpo";
  EXPECT_THAT(error().message, HasSubstr("did you mean 'preference'?"));
  config_.name = "chat";
  config_.tokenizer = "";
  EXPECT_THAT(error().message, HasSubstr("data.name=chat needs a tokenizer"));
}

TEST_F(Instructions, preference_pairs_share_their_question) {
  config_.name = "preference";
  const auto text_of = [&](const std::string& record) {
    write(record);
    const auto dataset = open();
    const std::string text = dataset == nullptr ? "" : *render_sample(*dataset, 0);
    return text.substr(0, text.rfind("\n--- "));
  };
  const std::string first = text_of(R"({"prompt": "Hello", "chosen": "Hi", "rejected": "Go"})");
  EXPECT_THAT(first, HasSubstr("--- preferred\n<s>user\nHello<|end|>assistant\n{+Hi<|end|>+}\n"));
  EXPECT_THAT(first, testing::EndsWith("<s>user\nHello<|end|>assistant\n{+Go<|end|>+}"));
  EXPECT_EQ(text_of(R"({"instruction": "Hello", "chosen": "Hi", "rejected": "Go"})"), first);
  EXPECT_EQ(text_of(R"({"conversations": [{"from": "human", "value": "Hello"}], )"
                    R"("chosen": {"from": "gpt", "value": "Hi"}, )"
                    R"("rejected": {"from": "gpt", "value": "Go"}})"),
            first);
  EXPECT_EQ(text_of(R"({"chosen": [{"role": "user", "content": "Hello"}, )"
                    R"({"role": "assistant", "content": "Hi"}], )"
                    R"("rejected": [{"role": "user", "content": "Hello"}, )"
                    R"({"role": "assistant", "content": "Go"}]})"),
            first);
  write(R"({"prompt": "Hello", "chosen": "Hi", "rejected": "Hi"})");
  EXPECT_THAT(error().message,
              HasSubstr("records.jsonl:1: \"chosen\" and \"rejected\" say the same"));
}

TEST_F(Instructions, texts_through_a_tokenizer_are_packed_as_documents) {
  config_.name = "text";
  config_.chat_template = "";
  config_.context = 8;
  write(R"({"text": "a b"})"
        "\n"
        R"({"text": "one two three four five six seven eight"})"
        "\n"
        R"({"text": ""})");
  const auto dataset = open();
  ASSERT_NE(dataset, nullptr);
  EXPECT_THAT(notes(), HasSubstr("1 with nothing to learn"));
  // Every token but each document's first is predicted once.
  std::int64_t counted = 0;
  std::int64_t tokens = 0;
  for (std::int64_t i = 0; i < dataset->size(); ++i) {
    const auto mask = row<std::uint8_t>(*dataset, i, kLossMask);
    counted += std::ranges::count(mask, 1);
  }
  TokenEncoder encoder(*dataset->info().tokenizer);
  for (const char* text : {"a b", "one two three four five six seven eight"}) {
    std::vector<TokenId> ids;
    encoder.encode(text, ids);
    tokens += std::ssize(ids);  // and a BOS, which is not predicted
  }
  EXPECT_EQ(counted, tokens);
}

TEST(Packing, puts_each_document_where_it_leaves_the_least_room) {
  // By hand: 5 alone; 4 with the first 2; 3 with the second.
  const std::vector<std::int32_t> lengths = {2, 5, 3, 4, 2};
  const Groups groups = pack_documents(lengths, 6);
  ASSERT_EQ(groups.size(), 3U);
  std::vector<std::vector<std::uint32_t>> all;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    all.emplace_back(groups[i].begin(), groups[i].end());
  }
  EXPECT_THAT(all, ElementsAre(ElementsAre(0U, 3U), ElementsAre(1U), ElementsAre(2U, 4U)));
}

TEST(Packing, every_document_is_in_one_group_that_has_room_for_it) {
  std::vector<std::int32_t> lengths;
  for (std::int32_t i = 0; i < 5000; ++i) {
    lengths.push_back(1 + (i * 7919 + i * i) % 400);
  }
  const Groups groups = pack_documents(lengths, 512);
  std::vector<int> seen(lengths.size());
  std::int64_t total = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::int64_t used = 0;
    for (const std::uint32_t document : groups[i]) {
      ++seen[document];
      used += lengths[document];
    }
    EXPECT_LE(used, 512);
    total += used;
  }
  EXPECT_TRUE(std::ranges::all_of(seen, [](int count) { return count == 1; }));
  EXPECT_GT(static_cast<double>(total) / static_cast<double>(groups.size() * 512), 0.97);
}

TEST(RecordFile, takes_lists_apart_whatever_their_texts_hold) {
  const auto records = split_records("[{\"a\": \"]},{\\\"\"}, [1, [2]],\n 3\n]", "x.json");
  ASSERT_TRUE(records) << records.error().message;
  std::vector<std::string> texts;
  for (const RawRecord& record : *records) {
    texts.emplace_back(record.text);
  }
  EXPECT_THAT(texts, ElementsAre("{\"a\": \"]},{\\\"\"}", "[1, [2]]", "3\n"));
  EXPECT_EQ(records->back().line, 2U);
  EXPECT_EQ(split_records("[] x", "x.json").error().kind, ErrorKind::Corrupt);
  EXPECT_TRUE(split_records("[]", "x.json")->empty());
}

}  // namespace
}  // namespace kedge::data
