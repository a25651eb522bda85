#include "store/users.h"

#include "store/internal/tables.h"

namespace kedge::store {

Result<std::vector<StoredUser>> Users::list() const {
  return Tables(store_).list(
      "SELECT name, role, password, created_us FROM users", {}, [](const SqlRow& row) {
        return StoredUser{row.string(0), row.string(1), row.string(2), row.integer(3)};
      });
}

Result<std::vector<StoredGrant>> Users::grants() const {
  return Tables(store_).list(
      "SELECT hash, id, kind, user_name, label, role, project, run_id, created_us, expires_us"
      " FROM grants",
      {}, [](const SqlRow& row) {
        return StoredGrant{.hash = row.string(0),
                           .id = row.string(1),
                           .kind = row.integer(2),
                           .user = row.string(3),
                           .label = row.string(4),
                           .role = row.string(5),
                           .project = row.string(6),
                           .run = row.string(7),
                           .created_us = row.integer(8),
                           .expires_us = row.integer(9)};
      });
}

Result<std::map<std::string, std::string>> Users::vouchers() const {
  std::map<std::string, std::string> newest;
  for (auto& [target, who] : KEDGE_TRY(Tables(store_).list(
           "SELECT target, who FROM audit WHERE what IN"
           " ('user.create', 'user.put', 'user.role', 'user.password') ORDER BY id",
           {}, [](const SqlRow& row) { return std::pair(row.string(0), row.string(1)); }))) {
    newest[target] = std::move(who);
  }
  return newest;
}

Result<void> Users::put(const StoredUser& user, std::optional<std::int64_t> kept_grants) {
  return Tables(store_).change([&](Database& database) -> Result<void> {
    if (kept_grants) {
      KEDGE_TRY(database.run("DELETE FROM grants WHERE user_name = $1 AND kind <> $2",
                             {user.name, *kept_grants}));
    }
    return database.run(
        "INSERT INTO users (name, role, password, created_us)"
        " VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO UPDATE SET"
        " role = excluded.role, password = excluded.password",
        {user.name, user.role, user.password, user.created_us});
  });
}

Result<void> Users::remove(const std::string& name) {
  return Tables(store_).change([&](Database& database) -> Result<void> {
    KEDGE_TRY(database.run("DELETE FROM grants WHERE user_name = $1", {name}));
    return database.run("DELETE FROM users WHERE name = $1", {name});
  });
}

Result<void> Users::add_grant(const StoredGrant& grant) {
  return Tables(store_).run(
      "INSERT INTO grants (hash, id, kind, user_name, label, role, project, run_id, created_us,"
      " expires_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
      {grant.hash, grant.id, grant.kind, grant.user, grant.label, grant.role, grant.project,
       grant.run, grant.created_us, grant.expires_us});
}

Result<void> Users::remove_grant(const std::string& hash) {
  return Tables(store_).run("DELETE FROM grants WHERE hash = $1", {hash});
}

}  // namespace kedge::store
