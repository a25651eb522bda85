#include "data/tokenizer/internal/pattern_program.h"

#include <algorithm>
#include <utility>

namespace kedge::data {
namespace {

using Node = PatternNode;
using Step = PatternStep;

// Written from the end to the beginning: each part is given the step that follows it.
class Writer {
 public:
  Result<PatternProgram> write(const Node& root) {
    const std::size_t end = add({.kind = Step::Kind::Match});
    const std::size_t start = KEDGE_TRY(write(root, end));
    program_.start = start;
    return std::move(program_);
  }

 private:
  static constexpr std::size_t kMostSteps = 4000;
  static constexpr std::size_t kMostSets = 64;  // the automaton has a bit for each

  std::size_t add(Step step) {
    program_.steps.push_back(step);
    return program_.steps.size() - 1;
  }

  std::size_t index_of(const CharacterSet& set) {
    const auto found = std::ranges::find(program_.sets, set);
    const auto index = static_cast<std::size_t>(found - program_.sets.begin());
    if (found == program_.sets.end()) {
      program_.sets.push_back(set);
    }
    return index;
  }

  Result<std::size_t> write(const Node& node, std::size_t next) {
    if (program_.steps.size() > kMostSteps || program_.sets.size() >= kMostSets) {
      return fail(ErrorKind::Usage, "it is too long for kedge");
    }
    switch (node.kind) {
      case Node::Kind::Sequence:
        for (auto part = node.parts.rbegin(); part != node.parts.rend(); ++part) {
          next = KEDGE_TRY(write(*part, next));
        }
        return next;
      case Node::Kind::Choice: {
        std::size_t choice = KEDGE_TRY(write(node.parts.back(), next));
        for (std::size_t i = node.parts.size() - 1; i-- > 0;) {
          const std::size_t way = KEDGE_TRY(write(node.parts[i], next));
          choice = add({.kind = Step::Kind::Fork, .next = way, .other = choice});
        }
        return choice;
      }
      case Node::Kind::One:
        return add({.kind = Step::Kind::Take, .set = index_of(node.set), .next = next});
      case Node::Kind::Look:
        return add({.kind = node.is_negative ? Step::Kind::Exclude : Step::Kind::Expect,
                    .set = index_of(node.set),
                    .next = next,
                    .or_end = node.or_end});
      case Node::Kind::Repeat:
        return write_repeat(node, next);
    }
    return next;
  }

  Result<std::size_t> write_repeat(const Node& node, std::size_t next) {
    const Node& part = node.parts.front();
    if (node.greed == Node::Greed::Possessive) {
      KEDGE_TRY(check_possessive(part, next));
    }
    const bool is_lazy = node.greed == Node::Greed::Lazy;
    const auto fork = [&](std::size_t more, std::size_t done) {
      return Step{
          .kind = Step::Kind::Fork, .next = is_lazy ? done : more, .other = is_lazy ? more : done};
    };
    std::size_t at = next;
    if (node.most == Node::kNoLimit) {
      at = add({});
      const std::size_t loop = at;
      program_.steps[loop] = fork(KEDGE_TRY(write(part, loop)), next);
    } else {
      for (int i = node.least; i < node.most; ++i) {
        const std::size_t more = KEDGE_TRY(write(part, at));
        at = add(fork(more, next));
      }
    }
    for (int i = 0; i < node.least; ++i) {
      at = KEDGE_TRY(write(part, at));
    }
    return at;
  }

  // Greedy is possessive where no step after `next` could go on with a character given back.
  Result<void> check_possessive(const Node& part, std::size_t next) const {
    if (part.kind != Node::Kind::One) {
      return fail(ErrorKind::Usage, "a possessive repeat of a group is not supported");
    }
    std::vector<std::size_t> open = {next};
    std::vector<bool> is_seen(program_.steps.size());
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      if (is_seen[at]) {
        continue;
      }
      is_seen[at] = true;
      const Step& step = program_.steps[at];
      if (step.kind == Step::Kind::Fork) {
        open.push_back(step.next);
        open.push_back(step.other);
      } else if (step.kind != Step::Kind::Match) {
        const CharacterSet& set = program_.sets[step.set];
        const CharacterSet going_on = step.kind == Step::Kind::Exclude ? set.complement() : set;
        if (overlap(part.set, going_on)) {
          return fail(ErrorKind::Usage,
                      "a possessive repeat before what it could also take is not supported");
        }
      }
    }
    return {};
  }

  static bool overlap(const CharacterSet& a, const CharacterSet& b) {
    return std::ranges::any_of(a.ranges(), [&b](const CharacterSet::Range& range) {
      return std::ranges::any_of(b.ranges(), [&range](const CharacterSet::Range& other) {
        return range.first <= other.last && other.first <= range.last;
      });
    });
  }

  PatternProgram program_;
};

}  // namespace

Result<PatternProgram> make_pattern_program(const PatternNode& root) {
  return Writer().write(root);
}

}  // namespace kedge::data
