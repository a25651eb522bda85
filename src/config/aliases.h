// The flat keys of the field's workshop scripts (batch_size, num_epochs, model_name, ...), which
// mean the same here. docs/guides/workshop-configs.md lists them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace kedge::config {

struct Alias {
  std::string_view name;  // as workshop files write it
  std::string_view path;  // the field it sets; empty: accepted, and `note` says what to know
  std::string_view note = {};
};

std::span<const Alias> aliases();

const Alias* find_alias(std::string_view name);

// A value as the alias's scripts write it, in our words: resume: true is auto,
// mixed_precision: none is fp32.
std::string translate_alias_value(std::string_view name, const std::string& value);

// What those scripts fix in their code, so that a file of flat keys trains as it did there: Adam,
// a fifth held out, ImageNet's preparation. A file with flat keys gets them where it says nothing
// else; flat keys of a sweep or a command bring nothing in.
struct Implied {
  std::string_view path;
  std::string_view value;
};

std::span<const Implied> implied_by_aliases();

}  // namespace kedge::config
