// The prompts of `kedge generate --input`, and which of them the output has already.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "data/chat/chat_template.h"

namespace kedge::use {

struct Prompt {
  std::string id;
  std::string text = {};
  data::ChatJson messages = {};  // null: it is a text to go on with
};

// Usage names the line that is no prompt.
Result<std::vector<Prompt>> read_prompts(const Path& path);

// Ids of the records that the output has; a torn last line is cut off.
Result<std::set<std::string>> read_answered(const Path& output);

}  // namespace kedge::use
