// Renders a template's tree with given variables.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "data/chat/internal/jinja_builtins.h"
#include "data/chat/internal/jinja_syntax.h"

namespace kedge::data::jinja {

// Bytes of a rendered text, from `begin` up to `end`.
struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct Rendering {
  std::string text;
  std::vector<Stretch> generations;  // what {% generation %} stood around
  // What was printed while a for statement was at the i-th of the watched values: nothing where no
  // statement printed any then, or more than one did.
  std::vector<std::optional<Stretch>> watched;
};

struct RenderOptions {
  std::vector<std::pair<std::string, Value>> variables = {};
  std::vector<DictPtr> watched = {};  // found by identity, which lists and slices keep
  Surroundings surroundings = {};
};

// Usage says the line. A template that runs too long, or prints more than 64 MiB, is refused.
Result<Rendering> render(const Body& body, const RenderOptions& options);

}  // namespace kedge::data::jinja
