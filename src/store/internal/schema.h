// The tables of the store, and how those of an older kedge become today's. docs/formats/store.md
// says what they hold.
#pragma once

#include <span>
#include <string_view>

#include "core/result.h"
#include "store/internal/database.h"

namespace kedge::store {

// The statements that lead from one version of the schema to the next. Migrations that have been
// released never change; new tables are new migrations at the end of the list.
using Migration = std::span<const std::string_view>;

std::span<const Migration> migrations();

// Brings the database to the newest version, each step in a transaction of its own. Unavailable
// when a newer kedge has been there.
Result<void> migrate(Database& database);

}  // namespace kedge::store
