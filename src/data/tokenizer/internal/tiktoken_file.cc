#include "data/tokenizer/internal/tiktoken_file.h"

#include <array>
#include <charconv>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/base64.h"
#include "data/tokenizer/internal/known_patterns.h"

namespace kedge::data {
namespace {

struct Special {
  std::string_view text;
  TokenId id;
};

struct Encoding {
  std::string_view sha256;  // as tiktoken 0.14 pins it
  std::string_view pattern;
  std::span<const Special> specials;
};

constexpr std::array<Special, 1> kGpt2Specials = {{{"<|endoftext|>", 50256}}};
constexpr std::array<Special, 5> kCl100kSpecials = {{{"<|endoftext|>", 100257},
                                                     {"<|fim_prefix|>", 100258},
                                                     {"<|fim_middle|>", 100259},
                                                     {"<|fim_suffix|>", 100260},
                                                     {"<|endofprompt|>", 100276}}};
constexpr std::array<Special, 2> kO200kSpecials = {
    {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}};

constexpr std::array<Encoding, 4> kEncodings = {{
    {"306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930", kR50kPattern,
     kGpt2Specials},
    {"94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069", kR50kPattern,
     kGpt2Specials},
    {"223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7", kCl100kPattern,
     kCl100kSpecials},
    {"446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d", kO200kPattern,
     kO200kSpecials},
}};

Result<TokenMap> read_ranks(std::string_view text) {
  TokenMap ranks;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty()) {
      continue;
    }
    const std::size_t space = std::min(line.find(' '), line.size());
    const auto token = decode_base64(line.substr(0, space));
    TokenId rank = 0;
    const char* last = line.data() + line.size();
    const auto parsed = std::from_chars(line.data() + std::min(space + 1, line.size()), last, rank);
    if (!token || token->empty() || parsed.ec != std::errc() || parsed.ptr != last ||
        !ranks.emplace(*token, rank).second) {
      return fail(ErrorKind::Corrupt,
                  fmt::format("line {} is not a token in base64 and its rank", number));
    }
  }
  return ranks;
}

// tiktoken merges any two neighbours whose bytes together are a token, that of the lowest rank
// first: so each way to cut a token in two is a merge.
PairTable make_pairs(const TokenMap& ranks) {
  std::vector<std::pair<std::pair<TokenId, TokenId>, TokenId>> found;
  for (const auto& [token, rank] : ranks) {
    for (std::size_t cut = 1; cut < token.size(); ++cut) {
      const std::string_view all = token;
      const auto left = ranks.find(all.substr(0, cut));
      const auto right = left == ranks.end() ? ranks.end() : ranks.find(all.substr(cut));
      if (right != ranks.end()) {
        found.push_back({{left->second, right->second}, rank});
      }
    }
  }
  PairTable pairs(found.size());
  for (const auto& [both, rank] : found) {
    pairs.add(both.first, both.second, {.rank = rank, .merged = rank});
  }
  return pairs;
}

}  // namespace

Result<TokenizerParts> read_tiktoken(std::string_view text, const std::string& sha256) {
  const Encoding* encoding = nullptr;
  for (const Encoding& each : kEncodings) {
    encoding = each.sha256 == sha256 ? &each : encoding;
  }
  if (encoding == nullptr) {
    return fail(ErrorKind::Usage,
                fmt::format("SHA-256 {} is none of r50k_base, p50k_base, cl100k_base and "
                            "o200k_base",
                            sha256),
                "such a file does not say how text is cut; use the model's tokenizer.json");
  }
  TokenizerParts parts;
  parts.names = KEDGE_TRY(read_ranks(text));
  parts.splitter = KEDGE_TRY(Splitter::by_pattern(encoding->pattern, Dialect::Rust));
  parts.decode_rules.kind = DecodeRules::Kind::Bytes;
  BpeParts bpe{.pairs = make_pairs(parts.names), .whole_first = true, .tokens = parts.names};
  for (std::size_t i = 0; i < bpe.bytes.size(); ++i) {
    bpe.bytes[i] = parts.names.at(std::string(1, static_cast<char>(i)));
  }
  parts.model = std::make_unique<const Bpe>(std::move(bpe));
  for (const Special& special : encoding->specials) {
    const AddedToken token{
        .content = std::string(special.text), .id = special.id, .is_special = true};
    parts.added.add(token, token.content);
    parts.names.emplace(token.content, token.id);
  }
  for (const auto& [token, id] : parts.names) {
    parts.pieces.resize(std::max<std::size_t>(parts.pieces.size(), id + 1));
    parts.pieces[id] = {.text = token, .exists = true};
  }
  for (const Special& special : encoding->specials) {
    parts.pieces[special.id].is_special = true;
  }
  return parts;
}

}  // namespace kedge::data
