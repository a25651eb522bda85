#include "store/dialect/portfolios.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "store/internal/tables.h"
#include "store/internal/text.h"

namespace kedge::store {
namespace {

constexpr std::string_view kSelectPortfolio =
    "SELECT id, project, name, type, description, created_us FROM portfolios WHERE ";

constexpr std::string_view kMembers =
    "SELECT m.portfolio, m.member, a.project, a.name, v.version, m.created_us"
    " FROM portfolio_members m JOIN artifact_versions v ON v.id = m.version"
    " JOIN artifacts a ON a.id = v.artifact WHERE ";

Portfolio read_portfolio(const SqlRow& row) {
  return {.id = row.integer(0),
          .project = row.string(1),
          .name = row.string(2),
          .type = row.string(3),
          .description = row.string(4),
          .created_us = row.integer(5)};
}

Result<std::vector<PortfolioMember>> read_members(Database& database, std::string_view condition,
                                                  std::initializer_list<SqlValue> values) {
  auto found = KEDGE_TRY(
      database.list(fmt::format("{}{} ORDER BY m.portfolio, m.member DESC", kMembers, condition),
                    values, [](const SqlRow& row) {
                      return PortfolioMember{.portfolio = row.integer(0),
                                             .index = row.integer(1),
                                             .project = row.string(2),
                                             .name = row.string(3),
                                             .version = row.integer(4),
                                             .created_us = row.integer(5)};
                    }));
  for (PortfolioMember& member : found) {
    member.aliases = KEDGE_TRY(database.list(
        "SELECT alias FROM portfolio_aliases WHERE portfolio = $1 AND member = $2 ORDER BY alias",
        {member.portfolio, member.index}, first_text));
  }
  return found;
}

Result<void> move_portfolio_alias(Database& database, std::int64_t portfolio, std::int64_t member,
                                  const std::string& alias) {
  return database.run(
      "INSERT INTO portfolio_aliases (portfolio, alias, member) VALUES ($1, $2, $3)"
      " ON CONFLICT (portfolio, alias) DO UPDATE SET member = excluded.member",
      {portfolio, alias, member});
}

constexpr std::string_view kVersionRow =
    "SELECT v.id FROM artifact_versions v JOIN artifacts a ON a.id = v.artifact"
    " WHERE a.project = $1 AND a.name = $2 AND v.version = $3";

Result<std::int64_t> find_or_add_member(Database& database, std::int64_t portfolio,
                                        std::int64_t version, std::int64_t now_us) {
  constexpr std::int64_t kNone = -1;
  const std::int64_t known = KEDGE_TRY(database.query_integer(
      "SELECT member FROM portfolio_members WHERE portfolio = $1 AND version = $2",
      {portfolio, version}, kNone));
  if (known != kNone) {
    return known;
  }
  const std::int64_t next = KEDGE_TRY(
      database.query_integer("SELECT next_member FROM portfolios WHERE id = $1", {portfolio}));
  KEDGE_TRY(
      database.run("UPDATE portfolios SET next_member = $2 WHERE id = $1", {portfolio, next + 1}));
  KEDGE_TRY(
      database.run("INSERT INTO portfolio_members (portfolio, member, version, created_us)"
                   " VALUES ($1, $2, $3, $4)",
                   {portfolio, next, version, now_us}));
  return next;
}

}  // namespace

Result<std::vector<Portfolio>> Portfolios::list(const std::string& project) const {
  return Tables(store_).list(fmt::format("{}project = $1 ORDER BY name", kSelectPortfolio),
                             {project}, read_portfolio);
}

Result<std::optional<Portfolio>> Portfolios::find(const std::string& project,
                                                  const std::string& name) const {
  return Tables(store_).find(fmt::format("{}project = $1 AND name = $2", kSelectPortfolio),
                             {project, name}, read_portfolio);
}

Result<std::optional<Portfolio>> Portfolios::find(std::int64_t id) const {
  return Tables(store_).find(fmt::format("{}id = $1", kSelectPortfolio), {id}, read_portfolio);
}

Result<std::vector<PortfolioMember>> Portfolios::members(std::int64_t portfolio) const {
  return Tables(store_).read(
      [&](Database& database) { return read_members(database, "m.portfolio = $1", {portfolio}); });
}

Result<std::vector<PortfolioMember>> Portfolios::links(const ArtifactVersion& version) const {
  return Tables(store_).read([&](Database& database) {
    return read_members(database, "a.project = $1 AND a.name = $2 AND v.version = $3",
                        {version.project, version.name, version.version});
  });
}

Result<PortfolioMember> Portfolios::link(const Portfolio& portfolio, const ArtifactVersion& version,
                                         const std::vector<std::string>& aliases,
                                         std::int64_t now_us) {
  return Tables(store_).change([&](Database& database) -> Result<PortfolioMember> {
    KEDGE_TRY(database.run(
        "INSERT INTO portfolios (project, name, type, description, created_us, next_member)"
        " VALUES ($1, $2, $3, $4, $5, 0) ON CONFLICT (project, name) DO NOTHING",
        {portfolio.project, portfolio.name, version.type, portfolio.description, now_us}));
    const std::int64_t id = KEDGE_TRY(
        database.query_integer("SELECT id FROM portfolios WHERE project = $1 AND name = $2",
                               {portfolio.project, portfolio.name}));
    const std::int64_t row = KEDGE_TRY(
        database.query_integer(kVersionRow, {version.project, version.name, version.version}));
    const std::int64_t index = KEDGE_TRY(find_or_add_member(database, id, row, now_us));
    for (const std::string& alias : aliases) {
      KEDGE_TRY(move_portfolio_alias(database, id, index, alias));
    }
    KEDGE_TRY(move_portfolio_alias(database, id, index, "latest"));
    return KEDGE_TRY(read_members(database, "m.portfolio = $1 AND m.member = $2", {id, index}))
        .at(0);
  });
}

Result<void> Portfolios::unlink(std::int64_t portfolio, const ArtifactVersion& version) {
  return Tables(store_).change([&](Database& database) -> Result<void> {
    const std::int64_t row = KEDGE_TRY(
        database.query_integer(kVersionRow, {version.project, version.name, version.version}));
    return database.run("DELETE FROM portfolio_members WHERE portfolio = $1 AND version = $2",
                        {portfolio, row});
  });
}

Result<void> Portfolios::set_alias(std::int64_t portfolio, std::int64_t index,
                                   const std::string& alias) {
  return Tables(store_).change(
      [&](Database& database) { return move_portfolio_alias(database, portfolio, index, alias); });
}

Result<void> Portfolios::remove_alias(std::int64_t portfolio, const std::string& alias) {
  return Tables(store_).run("DELETE FROM portfolio_aliases WHERE portfolio = $1 AND alias = $2",
                            {portfolio, alias});
}

Result<void> Portfolios::rename(std::int64_t portfolio, const std::string& name,
                                const std::string& description) {
  return Tables(store_).run("UPDATE portfolios SET name = $2, description = $3 WHERE id = $1",
                            {portfolio, name, make_valid_text(description)});
}

Result<void> Portfolios::remove(std::int64_t portfolio) {
  return Tables(store_).run("DELETE FROM portfolios WHERE id = $1", {portfolio});
}

Result<void> Portfolios::change_sequence(const Portfolio& which, const Portfolio& facts) {
  return Tables(store_).change([&](Database& database) -> Result<void> {
    if (facts.name != which.name &&
        KEDGE_TRY(database.query_integer(
            "SELECT COUNT(*) FROM artifacts WHERE project = $1 AND name = $2",
            {which.project, facts.name})) > 0) {
      return fail(ErrorKind::Usage, fmt::format("there is an artifact '{}' already", facts.name));
    }
    KEDGE_TRY(database.run(
        "UPDATE artifacts SET name = $3, type = $4, description = $5"
        " WHERE project = $1 AND name = $2",
        {which.project, which.name, facts.name, facts.type, make_valid_text(facts.description)}));
    KEDGE_TRY(database.run(
        "UPDATE artifact_drafts SET name = $3, type = $4 WHERE project = $1 AND name = $2",
        {which.project, which.name, facts.name, facts.type}));
    return database.run("UPDATE collection_tags SET name = $3 WHERE project = $1 AND name = $2",
                        {which.project, which.name, facts.name});
  });
}

Result<void> Portfolios::remove_sequence(const std::string& project, const std::string& name) {
  return Tables(store_).change([&](Database& database) -> Result<void> {
    KEDGE_TRY(database.run("DELETE FROM collection_tags WHERE project = $1 AND name = $2",
                           {project, name}));
    return database.run("DELETE FROM artifacts WHERE project = $1 AND name = $2", {project, name});
  });
}

Result<std::vector<std::string>> Portfolios::tags(const std::string& project,
                                                  const std::string& name) const {
  return Tables(store_).list(
      "SELECT tag FROM collection_tags WHERE project = $1 AND name = $2 ORDER BY tag",
      {project, name}, first_text);
}

Result<void> Portfolios::change_tags(const std::string& project, const std::string& name,
                                     const std::vector<std::string>& added,
                                     const std::vector<std::string>& removed) {
  return Tables(store_).change([&](Database& database) -> Result<void> {
    for (const std::string& tag : removed) {
      KEDGE_TRY(
          database.run("DELETE FROM collection_tags WHERE project = $1 AND name = $2 AND tag = $3",
                       {project, name, tag}));
    }
    for (const std::string& tag : added) {
      KEDGE_TRY(
          database.run("INSERT INTO collection_tags (project, name, tag)"
                       " VALUES ($1, $2, $3) ON CONFLICT (project, name, tag) DO NOTHING",
                       {project, name, make_valid_text(tag)}));
    }
    return {};
  });
}

}  // namespace kedge::store
