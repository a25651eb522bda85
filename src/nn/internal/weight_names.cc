#include "nn/internal/weight_names.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

namespace kedge::nn {
namespace {

// torch.compile leaves this in the middle of names too.
constexpr std::string_view kCompiled = "_orig_mod.";

// Names as PyTorch's layers have them today.
std::string plain_name(std::string name) {
  for (std::size_t at = name.find(kCompiled); at != std::string::npos; at = name.find(kCompiled)) {
    name.erase(at, kCompiled.size());
  }
  // BERT's first files.
  for (const auto& [old, now] :
       {std::pair<std::string_view, std::string_view>("LayerNorm.gamma", "LayerNorm.weight"),
        {"LayerNorm.beta", "LayerNorm.bias"}}) {
    if (name.ends_with(old)) {
      name.replace(name.size() - old.size(), old.size(), now);
    }
  }
  return name;
}

// "module." when `longer` is "module.fc.weight" and `shorter` is "fc.weight".
bool is_prefixed(std::string_view longer, std::string_view shorter) {
  return longer.size() > shorter.size() && longer.ends_with(shorter) &&
         longer[longer.size() - shorter.size() - 1] == '.';
}

struct Prefixes {
  std::string model;
  std::string file;

  auto operator<=>(const Prefixes&) const = default;
};

// The name a file would use, or empty where the model's name lacks the model's prefix.
std::string file_name(const Prefixes& prefixes, std::string_view model_name) {
  if (!model_name.starts_with(prefixes.model)) {
    return {};
  }
  return prefixes.file + std::string(model_name.substr(prefixes.model.size()));
}

// Every pair of prefixes by which some names match; the empty ones alone where all do as they are.
std::set<Prefixes> find_candidates(const std::vector<std::string>& model_names,
                                   const std::map<std::string, std::string>& files) {
  std::set<Prefixes> candidates{{}};
  if (std::ranges::all_of(model_names, [&](const auto& name) { return files.contains(name); })) {
    return candidates;
  }
  for (const std::string& model_name : model_names) {
    for (const auto& [plain, name] : files) {
      if (is_prefixed(plain, model_name)) {
        candidates.insert({.model = {}, .file = plain.substr(0, plain.size() - model_name.size())});
      } else if (is_prefixed(model_name, plain)) {
        candidates.insert(
            {.model = model_name.substr(0, model_name.size() - plain.size()), .file = {}});
      }
    }
  }
  return candidates;
}

}  // namespace

std::map<std::string, std::string> match_names(const std::vector<std::string>& model_names,
                                               const std::vector<std::string>& file_names) {
  std::map<std::string, std::string> files;  // plain name to the file's own
  for (const std::string& name : file_names) {
    files.emplace(plain_name(name), name);
  }
  std::map<std::string, std::string> best;
  for (const Prefixes& prefixes : find_candidates(model_names, files)) {
    std::map<std::string, std::string> matched;
    for (const std::string& model_name : model_names) {
      if (const auto found = files.find(file_name(prefixes, model_name)); found != files.end()) {
        matched.emplace(model_name, found->second);
      }
    }
    if (matched.size() > best.size()) {
      best = std::move(matched);
    }
  }
  return best;
}

bool matches_pattern(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_end = 0;  // where the name goes on behind what the last * took
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_end = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_end;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool matches_any(const std::vector<std::string>& patterns, std::string_view name) {
  return std::ranges::any_of(patterns,
                             [&](const auto& pattern) { return matches_pattern(pattern, name); });
}

}  // namespace kedge::nn
