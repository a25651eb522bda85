#include "use/internal/text_batch.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "nn/model.h"
#include "use/internal/recomputing_decoder.h"

namespace kedge::use {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr std::int64_t kVocab = 64;
constexpr std::int64_t kContext = 96;

// A small model with random weights, strong enough to have opinions.
LanguageModel random_model(const std::string& name = "llama") {
  LanguageModel model;
  model.context = std::make_shared<const device::Context>();
  torch::manual_seed(5);
  config::ModelConfig config;
  config.name = name;
  config.layers = 2;
  config.width = 32;
  config.heads = 4;
  model.vocab = kVocab;
  model.model =
      nn::make_model(config, {.context = kContext, .vocab = kVocab}, {.context = model.context})
          .value();
  const torch::NoGradGuard no_grad;
  for (auto& [_, tensor] : model.model->parameters()) {
    if (tensor.dim() > 1) {
      tensor.mul_(8);
    }
  }
  model.model->set_training(false);
  model.decoder = dynamic_cast<nn::Decoder*>(model.model.get());
  return model;
}

TextRequest request_of(std::int64_t first, std::int64_t length, Sampling sampling = {}) {
  TextRequest request{.tokens = {}, .sampling = sampling, .max_tokens = 12};
  for (std::int64_t i = 0; i < length; ++i) {
    request.tokens.push_back((first + 7 * i) % kVocab);
  }
  return request;
}

using Ids = std::vector<std::int64_t>;

// Begins each request at its turn, and returns what became of them.
std::vector<Ids> advance_all(const LanguageModel& model, std::size_t rows,
                             const std::vector<std::pair<int, TextRequest>>& requests,
                             bool goes_ahead = false) {
  TextBatch batch(model, rows, kContext, goes_ahead);
  std::vector<Ids> made(requests.size());
  std::map<std::size_t, std::size_t> request_in;
  std::size_t next = 0;
  for (int turn = 0; next < requests.size() || !batch.is_idle(); ++turn) {
    while (next < requests.size() && requests[next].first <= turn && batch.find_free()) {
      const std::size_t row = *batch.find_free();
      request_in[row] = next;
      batch.begin(row, requests[next++].second);
    }
    batch.advance({.on_token =
                       [&](std::size_t row, const MadeToken& token) {
                         made[request_in.at(row)].push_back(token.id);
                         return Wish::More;
                       },
                   .on_end = [](std::size_t, Ending) {}});
  }
  return made;
}

Ids alone(const LanguageModel& model, std::size_t rows, const TextRequest& request) {
  return advance_all(model, rows, {{0, request}}).front();
}

const std::vector<std::pair<int, TextRequest>> kMixed = {
    {0, request_of(1, 5)},
    {0, request_of(2, 30, {.temperature = 1, .seed = 11})},
    {2, request_of(3, 1, {.temperature = 0.7, .top_p = 0.9, .seed = 12})},
    {3, request_of(4, 17, {.repetition_penalty = 1.3})},
    {4, request_of(5, 8, {.repetition_penalty = 1.2, .temperature = 1.5, .top_k = 20, .seed = 13})},
    {9, request_of(1, 5)}};

TEST(TextBatch, a_text_becomes_the_same_alone_and_beside_others) {
  const LanguageModel model = random_model();
  const auto together = advance_all(model, 3, kMixed);
  for (std::size_t i = 0; i < kMixed.size(); ++i) {
    EXPECT_THAT(together[i], SizeIs(12));
    EXPECT_EQ(together[i], alone(model, 3, kMixed[i].second)) << i;
  }
  EXPECT_EQ(together.front(), together.back());
}

// As on a GPU: rows are given away while a step of their last text is still under way.
TEST(TextBatch, a_text_becomes_the_same_where_steps_are_begun_ahead) {
  LanguageModel model = random_model();
  EXPECT_EQ(advance_all(model, 2, kMixed, /*goes_ahead=*/true), advance_all(model, 2, kMixed));
  model.end_ids = {advance_all(model, 2, kMixed).front()[3]};
  EXPECT_EQ(advance_all(model, 2, kMixed, /*goes_ahead=*/true), advance_all(model, 2, kMixed));
}

// What the model's own forward pass says, without a cache.
TEST(TextBatch, goes_on_with_the_likeliest_token_of_the_whole_text) {
  for (const char* name : {"llama", "gpt-nano"}) {
    const LanguageModel model = random_model(name);
    const torch::NoGradGuard no_grad;
    Ids text = request_of(1, 5).tokens;
    Ids expected;
    for (int i = 0; i < 12; ++i) {
      const at::Tensor scores = model.model->forward(torch::tensor(text).unsqueeze(0));
      expected.push_back(scores[0][-1].argmax().item<std::int64_t>());
      text.push_back(expected.back());
    }
    EXPECT_EQ(alone(model, 2, request_of(1, 5)), expected) << name;
  }
}

TEST(TextBatch, a_model_without_a_cache_goes_on_alike) {
  const LanguageModel model = random_model();
  LanguageModel plain = random_model();
  plain.recomputing = std::make_unique<RecomputingDecoder>(*plain.model, kContext);
  plain.decoder = plain.recomputing.get();
  EXPECT_EQ(advance_all(plain, 3, kMixed), advance_all(model, 3, kMixed));
}

TEST(TextBatch, ends_where_it_should) {
  LanguageModel model = random_model();
  const Ids whole = alone(model, 1, request_of(1, 5));
  model.end_ids = {whole[4]};
  TextBatch batch(model, 2, kContext);
  std::map<std::size_t, Ending> endings;
  std::map<std::size_t, Ids> made;
  batch.begin(0, request_of(1, 5));
  TextRequest brief = request_of(1, 5);
  brief.max_tokens = 2;
  batch.begin(1, brief);
  while (!batch.is_idle()) {
    batch.advance({.on_token =
                       [&](std::size_t row, const MadeToken& token) {
                         made[row].push_back(token.id);
                         return Wish::More;
                       },
                   .on_end = [&](std::size_t row, Ending ending) { endings[row] = ending; }});
  }
  const auto before = static_cast<std::size_t>(std::ranges::find(whole, whole[4]) - whole.begin());
  EXPECT_EQ(made[0], Ids(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(before)));
  EXPECT_EQ(endings[0], Ending::EndToken);
  EXPECT_EQ(made[1], Ids(whole.begin(), whole.begin() + 2));
  EXPECT_EQ(endings[1], Ending::MaxTokens);
}

void expect_kept(bool goes_ahead) {
  const LanguageModel model = random_model();
  TextBatch batch(model, 1, kContext, goes_ahead);
  Ids made;
  const TextEvents events = {.on_token =
                                 [&](std::size_t, const MadeToken& token) {
                                   made.push_back(token.id);
                                   return Wish::More;
                                 },
                             .on_end = [](std::size_t, Ending) {}};
  const auto run = [&](TextRequest request) {
    made.clear();
    batch.begin(0, std::move(request));
    while (!batch.is_idle()) {
      batch.advance(events);
    }
    return made;
  };
  TextRequest request = request_of(1, 9);
  const Ids first = run(request);
  request.tokens.insert(request.tokens.end(), first.begin(), first.end() - 3);
  request.tokens.push_back(3);
  const Ids expected = alone(model, 1, request);
  request.keeps = true;
  EXPECT_EQ(run(request), expected);
  TextRequest other = request_of(2, 9);
  other.keeps = true;
  EXPECT_EQ(run(other), alone(model, 1, request_of(2, 9)));
}

TEST(TextBatch, keeps_what_a_row_has_computed_of_the_same_beginning) {
  expect_kept(/*goes_ahead=*/false);
  expect_kept(/*goes_ahead=*/true);
}

TEST(TextBatch, tells_how_likely_tokens_were) {
  const LanguageModel model = random_model();
  TextBatch batch(model, 2, kContext);
  TextRequest request = request_of(1, 5, {.temperature = 1, .seed = 2});
  request.max_tokens = 3;
  request.tells = 4;
  batch.begin(0, request);
  batch.begin(1, request_of(2, 3));
  const torch::NoGradGuard no_grad;
  Ids text = request.tokens;
  while (!batch.is_idle()) {
    batch.advance(
        {.on_token =
             [&](std::size_t row, const MadeToken& token) {
               if (row == 1) {
                 EXPECT_THAT(token.likeliest, SizeIs(0));
                 return Wish::More;
               }
               const at::Tensor scores =
                   model.model->forward(torch::tensor(text).unsqueeze(0))[0][-1].log_softmax(-1);
               EXPECT_NEAR(token.log_prob, scores[token.id].item<double>(), 1e-4);
               const auto [best, ids] = scores.topk(4);
               EXPECT_THAT(token.likeliest, SizeIs(4));
               for (int i = 0; i < 4; ++i) {
                 const auto place = static_cast<std::size_t>(i);
                 EXPECT_EQ(token.likeliest[place].id, ids[i].item<std::int64_t>());
                 EXPECT_NEAR(token.likeliest[place].log_prob, best[i].item<double>(), 1e-4);
               }
               text.push_back(token.id);
               return Wish::More;
             },
         .on_end = [](std::size_t, Ending) {}});
  }
  EXPECT_EQ(text.size(), request.tokens.size() + 3);
}

TEST(TextBatch, texts_that_have_no_room_are_told_so) {
  const auto refused = check_length(request_of(0, 90), kContext);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("90 tokens, and 12 more"));
  EXPECT_FALSE(check_length(request_of(0, 0), kContext));
  EXPECT_TRUE(check_length(request_of(0, 84), kContext));
}

}  // namespace
}  // namespace kedge::use
