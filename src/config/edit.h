// Changes one value in the text of a config file; all else in it, comments too, stays as it is.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace kedge::config {

// `text` with `value`, a plain word or number, at `path` ("loader.batch_size"): in place of the
// value that is there, under that name or a workshop's (aliases.h), else as a new line of its
// section. A Usage error where that would change anything else (an anchor that others refer to).
Result<std::string> set_in_text(const std::string& text, std::string_view path,
                                const std::string& value);

}  // namespace kedge::config
