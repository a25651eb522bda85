#include "data/tokenizer/internal/splitter.h"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/utf8.h"
#include "data/tokenizer/internal/json_facts.h"
#include "data/tokenizer/internal/known_patterns.h"

namespace kedge::data {
namespace {

using Json = nlohmann::json;

// A stretch of text that a pattern matched, or that lies between its matches.
struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool is_match = false;
};

// All of the text in stretches. `take` is called with each, in order.
template <typename Take>
void walk(const Pattern& pattern, std::string_view text, const Take& take) {
  std::size_t done = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = pattern.match(text, at);
    if (end == Pattern::kNone) {
      std::string_view rest = text.substr(at);
      take_character(rest);
      at = text.size() - rest.size();
      continue;
    }
    if (done < at) {
      take(Stretch{done, at, false});
    }
    take(Stretch{at, end, true});
    done = at = end;
  }
  if (done < text.size()) {
    take(Stretch{done, text.size(), false});
  }
}

std::vector<Stretch> merged(const std::vector<Stretch>& all, SplitBehaviour behaviour) {
  std::vector<Stretch> pieces;
  bool was_match = false;
  if (behaviour == SplitBehaviour::MergedWithNext) {
    for (auto stretch = all.rbegin(); stretch != all.rend(); ++stretch) {
      if (stretch->is_match && !was_match && !pieces.empty()) {
        pieces.back().begin = stretch->begin;
      } else {
        pieces.push_back(*stretch);
      }
      was_match = stretch->is_match;
    }
    return {pieces.rbegin(), pieces.rend()};
  }
  for (const Stretch& stretch : all) {
    const bool joins = behaviour == SplitBehaviour::Contiguous ? stretch.is_match == was_match
                                                               : stretch.is_match && !was_match;
    if (joins && !pieces.empty()) {
      pieces.back().end = stretch.end;
    } else {
      pieces.push_back(stretch);
    }
    was_match = stretch.is_match;
  }
  return pieces;
}

Result<SplitBehaviour> behaviour_of(const Json& json) {
  constexpr std::array<std::pair<std::string_view, SplitBehaviour>, 5> kNames = {{
      {"Isolated", SplitBehaviour::Isolated},
      {"Removed", SplitBehaviour::Removed},
      {"MergedWithPrevious", SplitBehaviour::MergedWithPrevious},
      {"MergedWithNext", SplitBehaviour::MergedWithNext},
      {"Contiguous", SplitBehaviour::Contiguous},
  }};
  const std::string name = KEDGE_TRY(text_of(json, "behavior", "Isolated"));
  for (const auto& [known, behaviour] : kNames) {
    if (name == known) {
      return behaviour;
    }
  }
  return unknown_part("split behavior", name);
}

}  // namespace

Result<Splitter> Splitter::read(const Json& json) {
  Splitter splitter;
  if (!json.is_null()) {
    KEDGE_TRY(splitter.add(json));
  }
  return splitter;
}

Result<Splitter> Splitter::by_pattern(std::string_view expression, Dialect dialect) {
  Splitter splitter;
  splitter.stages_.push_back({.pattern = KEDGE_TRY(Pattern::compile(expression, dialect))});
  splitter.is_byte_level_ = true;
  return splitter;
}

Result<void> Splitter::add(const Json& json) {
  const std::string type = KEDGE_TRY(type_of(json, "pre_tokenizer"));
  if (is_byte_level_) {
    return unknown_part("pre_tokenizer after ByteLevel:", type);
  }
  if (type == "Sequence") {
    const auto parts = json.find("pretokenizers");
    if (parts == json.end() || !parts->is_array()) {
      return fail(ErrorKind::Corrupt, "pre_tokenizer: a Sequence without \"pretokenizers\"");
    }
    for (const Json& part : *parts) {
      KEDGE_TRY(add(part));
    }
    return {};
  }
  if (type == "ByteLevel") {
    if (KEDGE_TRY(flag_of(json, "add_prefix_space", true))) {
      stages_.push_back({.kind = Stage::Kind::SpaceBefore});
    }
    if (KEDGE_TRY(flag_of(json, "use_regex", true))) {
      KEDGE_TRY(add_cut(kGpt2Pattern, Json::object()));
    }
    is_byte_level_ = true;
    return {};
  }
  if (type == "Split") {
    return add_cut(KEDGE_TRY(expression_of(json)), json);
  }
  if (type == "Digits") {
    const bool is_single = KEDGE_TRY(flag_of(json, "individual_digits", false));
    return add_cut(R"(\p{N})", {{"behavior", is_single ? "Isolated" : "Contiguous"}});
  }
  if (type == "WhitespaceSplit") {
    return add_cut(R"(\s)", {{"behavior", "Removed"}});
  }
  if (type == "Whitespace") {
    stages_.push_back({.pattern = KEDGE_TRY(Pattern::compile(R"(\w+|[^\w\s]+)", Dialect::Rust)),
                       .behaviour = SplitBehaviour::Removed,
                       .is_inverted = true});
    return {};
  }
  if (type == "BertPreTokenizer") {
    KEDGE_TRY(add_cut(R"(\s)", {{"behavior", "Removed"}}));
    return add_cut(R"([!-/:-@\[-`{-~\p{P}])", {{"behavior", "Isolated"}});
  }
  if (type == "Punctuation") {
    return add_cut(R"([!-/:-@\[-`{-~\p{P}])", json);
  }
  return type == "Metaspace" ? add_mark(json) : unknown_part("pre_tokenizer", type);
}

Result<void> Splitter::add_cut(std::string_view expression, const Json& options) {
  stages_.push_back({.pattern = KEDGE_TRY(Pattern::compile(expression, Dialect::Oniguruma)),
                     .behaviour = KEDGE_TRY(behaviour_of(options)),
                     .is_inverted = KEDGE_TRY(flag_of(options, "invert", false))});
  return {};
}

Result<void> Splitter::add_mark(const Json& json) {
  Stage stage{.kind = Stage::Kind::Mark};
  stage.mark = KEDGE_TRY(text_of(json, "replacement", "\u2581"));
  // Files of tokenizers before 0.15 have add_prefix_space in place of the scheme.
  const bool has_prefix = KEDGE_TRY(flag_of(json, "add_prefix_space", true));
  const std::string scheme =
      KEDGE_TRY(text_of(json, "prepend_scheme", has_prefix ? "always" : "never"));
  if (scheme == "always" || scheme == "first" || scheme == "never") {
    stage.prepend = scheme == "always"  ? Stage::Prepend::Always
                    : scheme == "first" ? Stage::Prepend::First
                                        : Stage::Prepend::Never;
  } else {
    return unknown_part("Metaspace's prepend_scheme", scheme);
  }
  if (KEDGE_TRY(flag_of(json, "split", true))) {
    stage.pattern = KEDGE_TRY(Pattern::compile(escape_pattern(stage.mark), Dialect::Oniguruma));
    stage.behaviour = SplitBehaviour::MergedWithNext;
  }
  stages_.push_back(std::move(stage));
  return {};
}

void Splitter::split(std::string_view text, bool is_at_start, const PieceSink& sink) const {
  if (!text.empty()) {
    run(0, text, is_at_start, sink);
  }
}

void Splitter::run(std::size_t index, std::string_view text, bool is_at_start,
                   const PieceSink& sink) const {
  if (index == stages_.size()) {
    sink(text);
    return;
  }
  const Stage& stage = stages_[index];
  if (stage.kind == Stage::Kind::Cut) {
    cut(index, text, is_at_start, sink);
  } else if (stage.kind == Stage::Kind::SpaceBefore) {
    run(index + 1, text.starts_with(' ') ? text : " " + std::string(text), is_at_start, sink);
  } else {
    std::string marked;
    for (const char byte : text) {
      byte == ' ' ? marked += stage.mark : marked += byte;
    }
    const bool prepends = stage.prepend == Stage::Prepend::Always ||
                          (stage.prepend == Stage::Prepend::First && is_at_start);
    if (prepends && !marked.starts_with(stage.mark)) {
      marked.insert(0, stage.mark);
    }
    stage.pattern ? cut(index, marked, is_at_start, sink)
                  : run(index + 1, marked, is_at_start, sink);
  }
}

void Splitter::cut(std::size_t index, std::string_view text, bool is_at_start,
                   const PieceSink& sink) const {
  const Stage& stage = stages_[index];
  const bool is_last = index + 1 == stages_.size();
  const auto pass_on = [&](const Stretch& stretch) {
    const std::string_view piece = text.substr(stretch.begin, stretch.end - stretch.begin);
    is_last ? sink(piece) : run(index + 1, piece, is_at_start && stretch.begin == 0, sink);
  };
  if (stage.behaviour == SplitBehaviour::Isolated) {
    walk(*stage.pattern, text, pass_on);
    return;
  }
  std::vector<Stretch> stretches;
  walk(*stage.pattern, text, [&](Stretch stretch) {
    stretch.is_match ^= stage.is_inverted;
    const bool is_removed = stage.behaviour == SplitBehaviour::Removed && stretch.is_match;
    if (!is_removed) {
      stretches.push_back(stretch);
    }
  });
  if (stage.behaviour != SplitBehaviour::Removed) {
    stretches = merged(stretches, stage.behaviour);
  }
  for (const Stretch& stretch : stretches) {
    pass_on(stretch);
  }
}

}  // namespace kedge::data
