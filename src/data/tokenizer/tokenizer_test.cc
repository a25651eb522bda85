#include "data/tokenizer/tokenizer.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base64.h"
#include "data/tokenizer/internal/clean_text.h"
#include "data/tokenizer/internal/pattern.h"
#include "data/tokenizer/internal/unicode_forms.h"

namespace kedge::data {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

Path folder() {
  return Path(KEDGE_FIXTURES) / "data" / "tokenizers";
}

json read_json(const std::string& name) {
  return json::parse(read_file(folder() / name).value());
}

std::vector<TokenId> encode(const Tokenizer& tokenizer, std::string_view text,
                            EncodeOptions options = {}) {
  std::vector<TokenId> ids;
  TokenEncoder(tokenizer, options).encode(text, ids);
  return ids;
}

// The answers of Hugging Face's tokenizers 0.23.3, written by make.py beside them.
template <typename Check>
void for_each_golden(const Check& check) {
  const json golden = read_json("golden.json");
  ASSERT_GT(golden.size(), 100);
  for (const json& one : golden) {
    const auto name = one["tokenizer"].get<std::string>();
    const auto tokenizer = Tokenizer::load(folder() / name);
    ASSERT_TRUE(tokenizer) << name << ": " << tokenizer.error().message;
    const std::string text = decode_base64(one["bytes"].get<std::string>()).value();
    SCOPED_TRACE(name + ": " + json(text).dump(-1, ' ', true, json::error_handler_t::replace));
    check(*tokenizer, text, one);
  }
}

TEST(tokenizer, gives_the_ids_of_hugging_face) {
  for_each_golden([](const Tokenizer& tokenizer, const std::string& text, const json& golden) {
    EXPECT_EQ(encode(tokenizer, text), golden["ids"].get<std::vector<TokenId>>());
    EXPECT_EQ(encode(tokenizer, text, {.special_tokens = true, .add_around = true}),
              golden["special_ids"].get<std::vector<TokenId>>());
  });
}

TEST(tokenizer, decodes_as_hugging_face) {
  for_each_golden([](const Tokenizer& tokenizer, const std::string&, const json& golden) {
    const auto ids = golden["special_ids"].get<std::vector<TokenId>>();
    EXPECT_EQ(decode(tokenizer, ids).value(), golden["text"].get<std::string>());
    EXPECT_EQ(decode(tokenizer, ids, false).value(), golden["whole_text"].get<std::string>());
  });
}

TEST(tokenizer, streams_whole_characters) {
  for_each_golden([](const Tokenizer& tokenizer, const std::string&, const json& golden) {
    TokenDecoder decoder(tokenizer);
    std::string all;
    for (const json& id : golden["special_ids"]) {
      const std::string part = decoder.push(id.get<TokenId>()).value();
      EXPECT_EQ(find_invalid(part), part.size());
      all += part;
    }
    EXPECT_EQ(all + decoder.finish(), golden["text"].get<std::string>());
  });
}

TEST(tokenizer, remembers_pieces_without_changing_them) {
  const auto tokenizer = Tokenizer::load(folder() / "llama3.json").value();
  TokenEncoder encoder(tokenizer);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t size = 1; size < 40; ++size) {
      const std::string word =
          std::string("checkpointing the jumps of dogs and values").substr(0, size);
      std::vector<TokenId> ids;
      encoder.encode(word, ids);
      EXPECT_EQ(ids, encode(tokenizer, word));
    }
  }
}

TEST(tokenizer, counts_what_was_no_text) {
  TokenEncoder encoder(Tokenizer::load(folder() / "gpt2.json").value());
  std::vector<TokenId> ids;
  encoder.encode("fine", ids);
  EXPECT_EQ(encoder.replaced_count(), 0);
  // Python: b"\xe4\xb8\xff\xed\xa0\x80".decode(errors="replace") has 5 of U+FFFD.
  encoder.encode("\xe4\xb8\xff\xed\xa0\x80", ids);
  EXPECT_EQ(encoder.replaced_count(), 5);
}

TEST(tokenizer, knows_its_tokens) {
  const auto tokenizer = Tokenizer::load(folder() / "llama3.json").value();
  const auto golden = read_json("llama3.json");
  EXPECT_EQ(tokenizer.find("<|end|>"), golden["added_tokens"][1]["id"].get<TokenId>());
  EXPECT_EQ(tokenizer.find("<|nothing|>"), std::nullopt);
  EXPECT_EQ(tokenizer.find_end_of_text(), std::nullopt);
  EXPECT_THAT(decode(tokenizer, {100000}).error().message, HasSubstr("100000"));
}

struct Refusal {
  json change;
  std::string message;
};

TEST(tokenizer, refuses_by_name_what_it_does_not_know) {
  const std::vector<Refusal> refusals = {
      {{{"normalizer", {{"type", "Precompiled"}}}}, "normalizer 'Precompiled'"},
      {{{"pre_tokenizer", {{"type", "UnicodeScripts"}}}}, "pre_tokenizer 'UnicodeScripts'"},
      {{{"decoder", {{"type", "CTC"}}}}, "decoder 'CTC'"},
      {{{"post_processor", {{"type", "Mystery"}}}}, "post_processor 'Mystery'"},
      {{{"model", {{"type", "Unigram"}}}}, "model 'Unigram'"},
      {{{"model", {{"end_of_word_suffix", "</w>"}}}}, "end_of_word_suffix"},
      {{{"model", {{"dropout", 0.1}}}}, "dropout"},
      {{{"model", {{"merges", {"he"}}}}}, "merge 0"},
      {{{"model", {{"merges", {"t zzz"}}}}}, "'zzz', which is not in the vocabulary"},
      {{{"added_tokens", {{{"id", 7}, {"content", "h"}}}}}, "'h' is 7"},
      {{{"pre_tokenizer",
         {{"type", "Split"}, {"pattern", {{"Regex", R"((?<=a)b)"}}}, {"behavior", "Isolated"}}}},
       "'(?<'"},
  };
  for (const Refusal& refusal : refusals) {
    json file = read_json("gpt2.json");
    file.merge_patch(refusal.change);
    const auto tokenizer = Tokenizer::parse(file.dump());
    ASSERT_FALSE(tokenizer) << refusal.change;
    EXPECT_THAT(tokenizer.error().message, HasSubstr(refusal.message));
  }
  EXPECT_THAT(Tokenizer::parse("{}").error().message, HasSubstr("no \"model\""));
}

// SmolLM2's vocabulary lacks bytes, and Hugging Face's tokenizers leave them out.
TEST(tokenizer, loses_bytes_that_a_byte_level_vocabulary_lacks) {
  json file = read_json("gpt2.json");
  file["model"]["vocab"].erase("\u0120");  // ByteLevel's letter for a space
  file["model"]["merges"] = json::array();
  const auto tokenizer = Tokenizer::parse(file.dump());
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto ids_of = [&](std::string_view text) {
    std::vector<TokenId> ids;
    TokenEncoder(*tokenizer).encode(text, ids);
    return ids;
  };
  EXPECT_EQ(ids_of("h e"), ids_of("he"));
  EXPECT_FALSE(ids_of("he").empty());
}

// Expected values: Python's `regex` with the same expression, as re.match(...).end().
TEST(pattern, matches_as_a_backtracking_matcher) {
  struct Case {
    std::string expression;
    std::string text;
    std::size_t end;
  };

  const std::vector<Case> cases = {
      {R"(\s+(?!\S)|\s+)", "   x", 2},
      {R"(\s+(?!\S)|\s+)", "   ", 3},
      {R"(\s+(?!\S)|\s+)", " x", 1},
      {"a|ab|abc", "abc", 1},
      {"(?:a|ab)(?:c|bcd)?", "abcd", 4},
      {"a{2,3}?", "aaaa", 2},
      {"(?i:'s|'ll)", "'LL", 3},
      {R"(\s*[\r\n]+)", " \n \n x", 4},
      {R"([^\r\n\p{L}\p{N}]?\p{L}+)", "!\u00e9t\u00e9 ", 6},
      {R"(\p{N}{1,3}+)", "12345", 3},
      {R"([a-c\-\]]+)", "a-]d", 3},
  };
  for (const Case& one : cases) {
    const auto pattern = Pattern::compile(one.expression, Dialect::Rust);
    ASSERT_TRUE(pattern) << pattern.error().message;
    EXPECT_EQ(pattern->match(one.text, 0), one.end) << one.expression;
  }
  EXPECT_EQ(Pattern::compile("ab+", Dialect::Rust)->match("ba", 0), Pattern::kNone);
}

TEST(pattern, knows_where_a_line_ends_in_each_dialect) {
  EXPECT_EQ(Pattern::compile(R"(a+$)", Dialect::Oniguruma)->match("aa\nb", 0), 2);
  EXPECT_EQ(Pattern::compile(R"(a+$)", Dialect::Rust)->match("aa\nb", 0), Pattern::kNone);
  EXPECT_EQ(Pattern::compile(R"(a+$)", Dialect::Rust)->match("aa", 0), 2);
}

TEST(pattern, refuses_what_it_would_have_to_guess) {
  for (const char* expression : {"a*", "(?<n>a)", R"(\bword)", "[a&&b]", "[[:alpha:]]", "a++a",
                                 R"(\p{Han})", "(?!ab)c", "a**", "(a", "a)", "[a", "a{2,1}",
                                 R"(\h)", "(?i:\u00e9)", "^a", "+a", R"(\)", "(?:ab)++c"}) {
    EXPECT_FALSE(Pattern::compile(expression, Dialect::Oniguruma)) << expression;
  }
}

// Expected values: unicodedata.normalize of Python.
TEST(unicode_forms, are_those_of_the_standard) {
  const auto form = [](UnicodeForm wanted, std::string text) {
    to_form(wanted, text);
    return text;
  };
  EXPECT_EQ(form(UnicodeForm::Nfc, "e\u0301 \u212b \u1100\u1161\u11a8"), "\u00e9 \u00c5 \uac01");
  EXPECT_EQ(form(UnicodeForm::Nfc, "a\u0323\u0307 plain"), "\u1ea1\u0307 plain");
  EXPECT_EQ(form(UnicodeForm::Nfd, "\u00e9\uac01"), "e\u0301\u1100\u1161\u11a8");
  EXPECT_EQ(form(UnicodeForm::Nfkc, "\ufb01\u00bd\uff21"), "fi1\u20442A");
  EXPECT_EQ(form(UnicodeForm::Nfkd, "\ufb01\u00e9"), "fie\u0301");
}

}  // namespace
}  // namespace kedge::data
