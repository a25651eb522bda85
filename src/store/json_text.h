// JSON written piece by piece onto a text: where answers are large, a document in between costs
// more than all the rest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kedge::store {

// Quoted; bytes that are no UTF-8 are replaced.
void append_json(std::string& out, std::string_view text);

// As nlohmann::json writes it, "1.0" for a whole one; what is not finite as render_number() does.
void append_json(std::string& out, double value);

void append_json(std::string& out, std::int64_t value);

}  // namespace kedge::store
