// Keeps passwords and tokens out of what is recorded: hides what a name says is a secret
// (password=...), what has the shape of a well-known token, and passwords in addresses. It may miss
// a secret that looks like any other word; nothing may rely on it.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace kedge {

// "--api-key=x", "--token x", "wandb.key=x" and "https://me:x@host" lose their x.
std::vector<std::string> redact_arguments(std::vector<std::string> arguments);

// A line of a console or a text of a config. Whether something was hidden.
bool redact_text(std::string& text);

// Texts in nested objects and lists, by the names that lead to them and as redact_text() does.
// Returns the names of those in which something was hidden, as "server.api_key".
std::vector<std::string> redact_values(nlohmann::json& values);

}  // namespace kedge
