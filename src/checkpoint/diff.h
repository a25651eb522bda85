// What differs between two checkpoints: values of the state, and tensors element by element.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "core/result.h"

namespace kedge::checkpoint {

struct CompareOptions {
  // Values of the state that may differ, with all below them: "config", "history", "best.value".
  std::vector<std::string> ignored = {};
  // What to compare first: names of parts, and "state". The others follow, the state first.
  std::vector<std::string> order = {};
};

struct Difference {
  enum class Kind : std::uint8_t {
    Missing,  // is in one of them only
    Type,     // dtype of a tensor, or kind of a state value
    Shape,
    Value,
  };

  Kind kind = Kind::Value;
  std::string part;  // "model", "optimizer", ...; "state"
  std::string name;  // the tensor; in the state "best.value", "history[3].loss"; empty: the part
  std::string a;     // as text: of a tensor's values, the first that differs
  std::string b;
  // Of tensors whose values differ:
  std::int64_t count = 0;           // elements that differ, in bits
  std::int64_t elements = 0;        // of how many
  std::vector<std::int64_t> index;  // of the first
  double max_abs = 0;               // largest |a - b|; NaN where one of the two is no number
};

// Element for element, bit for bit, in order: parts as asked for, tensors as they lie in `a`.
// Empty: they are the same. Two NaN of the same bits are equal, 0 and -0 differ. Reads every byte
// of both and does not verify hashes: that is Checkpoint::verify().
std::vector<Difference> compare(const Checkpoint& a, const Checkpoint& b,
                                const CompareOptions& options);

// "optimizer: tensor 'fc.weight.m' differs in 3 of 640 elements, first at [0, 7]: 0.5 and 0.25".
std::string render(const Difference& difference);

}  // namespace kedge::checkpoint
