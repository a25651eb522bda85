// Rows of texts as aligned columns.
#pragma once

#include <string>
#include <vector>

namespace kedge::cli {

// Columns are as wide as their widest cell, two spaces apart; lines end where their text does.
// What would steer a terminal is shown as printable() writes it.
std::string render_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace kedge::cli
