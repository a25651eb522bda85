// Copies of a database's rows into another, whichever two they are.
#pragma once

#include "core/result.h"
#include "store/internal/database.h"

namespace kedge::store {

// Every row of every table, as of one moment, into a database that is migrated and empty; in one
// transaction. `sqlite` is one of the two, and tells which tables and columns there are. Usage when
// `from` has not today's schema or `to` holds a store already.
Result<void> copy_tables(Database& from, Database& to, Database& sqlite);

}  // namespace kedge::store
