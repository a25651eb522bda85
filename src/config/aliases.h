// What the field's workshop files of flat keys bring with them beyond the keys that set a field
// here (each field's Alias, section.h). docs/guides/workshop-configs.md lists both.
#pragma once

#include <span>
#include <string_view>

namespace kedge::config {

// A flat key that is accepted and sets nothing; `note` says what to know.
struct NotedKey {
  std::string_view name;
  std::string_view note;
};

std::span<const NotedKey> noted_keys();

// What those scripts fix in their code, so that a file of flat keys trains as it did there: Adam,
// a fifth held out, ImageNet's preparation. A file with flat keys gets them where it says nothing
// else; flat keys of a sweep or a command bring nothing in.
struct Implied {
  std::string_view path;
  std::string_view value;
};

std::span<const Implied> implied_by_aliases();

}  // namespace kedge::config
