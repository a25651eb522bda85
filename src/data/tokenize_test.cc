#include "data/tokenize.h"

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "core/scratch_folder.h"

namespace kedge::data {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Tokenize : public ::testing::Test {
 protected:
  Path write(const std::string& name, std::string_view text) {
    std::ofstream(scratch_.path() / name, std::ios::binary) << text;
    return scratch_.path() / name;
  }

  // About `bytes` of records with words of many lengths.
  Path write_records(std::size_t bytes) {
    std::string text;
    for (std::size_t i = 0; text.size() < bytes; ++i) {
      const std::string word(1 + i % 13, static_cast<char>('a' + i % 26));
      text +=
          json({{"id", i}, {"text", "the dog's " + word + " jumps\n over " + std::to_string(i)}})
              .dump() +
          "\n";
    }
    return write("records.jsonl", text);
  }

  TokenizeOptions options(std::vector<Path> inputs, const std::string& out) {
    return {.inputs = std::move(inputs), .out = scratch_.path() / out, .end = 7};
  }

  Result<TokenizeReport> run(const TokenizeOptions& options) {
    return tokenize(tokenizer_, options, [](const TokenizeReport&, std::uint64_t) {});
  }

  std::string content(const std::string& name) { return read_file(scratch_.path() / name).value(); }

  std::vector<std::uint16_t> ids(const std::string& name) {
    const std::string bytes = content(name);
    std::vector<std::uint16_t> made(bytes.size() / 2);
    std::memcpy(made.data(), bytes.data(), bytes.size());
    return made;
  }

  ScratchFolder scratch_;
  Tokenizer tokenizer_ =
      Tokenizer::load(Path(KEDGE_FIXTURES) / "data" / "tokenizers" / "gpt2.json").value();
};

TEST_F(Tokenize, writes_the_ids_of_each_document_and_its_end) {
  const Path text = write("a.txt", "the dog");
  const Path records = write("b.jsonl", "{\"text\": \"fox\"}\n\n{\"text\": \"the\"}");
  const auto report = run(options({text, records}, "out"));
  ASSERT_TRUE(report) << report.error().message;
  std::vector<TokenId> expected;
  std::vector<std::int32_t> lengths;
  TokenEncoder encoder(tokenizer_);
  for (const char* document : {"the dog", "fox", "the"}) {
    const std::size_t before = expected.size();
    encoder.encode(document, expected);
    expected.push_back(7);
    lengths.push_back(static_cast<std::int32_t>(expected.size() - before));
  }
  EXPECT_EQ(ids("out/train.bin"), std::vector<std::uint16_t>(expected.begin(), expected.end()));
  EXPECT_EQ(report->documents, 3);
  EXPECT_EQ(report->train_tokens, expected.size());
  const json meta = json::parse(content("out/meta.json"));
  EXPECT_EQ(meta["dtype"], "uint16");
  EXPECT_EQ(meta["vocab"], tokenizer_.vocab());
  // Megatron's index: magic, version 1, type 8 (uint16), 3 sequences, 4 bounds, lengths, pointers.
  const std::string index = content("out/train.idx");
  ASSERT_EQ(index.size(), 9 + 8 + 1 + 8 + 8 + 3 * 4 + 3 * 8 + 4 * 8);
  EXPECT_TRUE(index.starts_with(std::string("MMIDIDX\0\0\1\0\0\0\0\0\0\0\10\3\0\0\0", 22)));
  EXPECT_EQ(std::memcmp(index.data() + 34, lengths.data(), 12), 0);
  EXPECT_FALSE(std::filesystem::exists(scratch_.path() / "out" / "tokenize.json"));
}

TEST_F(Tokenize, writes_the_same_bytes_with_any_number_of_threads) {
  const Path records = write_records(std::size_t{7} << 20U);
  for (const unsigned threads : {1U, 2U, 8U}) {
    auto with = options({records}, "out" + std::to_string(threads));
    with.threads = threads;
    with.val = 0.1;
    const auto report = run(with);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_GT(report->val_tokens, 0);
  }
  for (const char* other : {"out2", "out8"}) {
    for (const char* name : {"/train.bin", "/val.bin", "/train.idx", "/val.idx", "/meta.json"}) {
      EXPECT_TRUE(content("out1" + std::string(name)) == content(other + std::string(name)))
          << other << name;
    }
  }
}

TEST_F(Tokenize, goes_on_after_a_kill_with_the_same_bytes) {
  const Path records = write_records(std::size_t{9} << 20U);
  auto whole = options({records}, "whole");
  ASSERT_TRUE(run(whole));
  auto cut = options({records}, "cut");
  cut.unsaved_bytes = 1;
  cut.threads = 2;
  const pid_t child = fork();
  if (child == 0) {
    int units = 0;
    (void)tokenize(tokenizer_, cut, [&units](const TokenizeReport&, std::uint64_t) {
      if (++units == 3) {
        _exit(9);  // as abrupt as a kill
      }
    });
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(WEXITSTATUS(status), 9);
  ASSERT_FALSE(std::filesystem::exists(scratch_.path() / "cut" / "train.bin"));
  std::ofstream(scratch_.path() / "cut" / "train.bin.part", std::ios::app) << "half a uni";
  auto other = cut;
  other.end = 8;
  EXPECT_THAT(run(other).error().message, HasSubstr("other options"));
  const auto report = run(cut);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_GE(report->first_byte, std::uint64_t{6} << 20U);
  for (const char* name : {"/train.bin", "/train.idx", "/meta.json"}) {
    EXPECT_TRUE(content("whole" + std::string(name)) == content("cut" + std::string(name))) << name;
  }
  EXPECT_THAT(run(cut).error().message, HasSubstr("holds tokens already"));
}

TEST_F(Tokenize, says_which_records_it_could_not_read) {
  const Path records = write("bad.jsonl",
                             "{\"text\": \"the dog\"}\n{\"text\": \"cut\n{\"txt\": 1}\n"
                             "{\"text\": 5}\n{\"text\": \"\"}\n{\"text\": \"\xff\"}\n");
  const auto report = run(options({records}, "out"));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->documents, 2);
  EXPECT_EQ(report->empty, 1);
  EXPECT_EQ(report->replaced, 1);
  std::vector<std::string> seen;
  std::ifstream rejected(scratch_.path() / "out" / "rejected.jsonl");
  for (std::string line; std::getline(rejected, line);) {
    const json row = json::parse(line);
    EXPECT_EQ(row["file"], records.string());
    seen.push_back(std::to_string(row["line"].get<int>()) + ": " +
                   row["reason"].get<std::string>());
  }
  EXPECT_THAT(seen, ElementsAre("2: the line is no JSON object", "3: there is no \"text\"",
                                "4: \"text\" is number, not text"));
  auto none = options({write("none.jsonl", "{}\n")}, "none");
  EXPECT_THAT(run(none).error().message, HasSubstr("no text that could be tokenized"));
}

TEST_F(Tokenize, lists_the_texts_of_folders_in_order) {
  std::filesystem::create_directories(scratch_.path() / "in" / "b");
  write("in/b/2.txt", "x");
  write("in/c.jsonl", "");
  write("in/a.md", "x");
  write("in/skipped.bin", "x");
  EXPECT_THAT(list_texts(scratch_.path() / "in").value(),
              ElementsAre(scratch_.path() / "in" / "a.md", scratch_.path() / "in" / "b" / "2.txt",
                          scratch_.path() / "in" / "c.jsonl"));
  EXPECT_EQ(list_texts(scratch_.path() / "absent").error().kind, ErrorKind::NotFound);
}

}  // namespace
}  // namespace kedge::data
