#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/server_calls.h"
#include "cli/shared/arguments.h"
#include "cli/verbs.h"

namespace kedge::cli {
namespace {

const VerbHelp kLinkHelp = {
    .usage = "kedge server link",
    .text =
        "Prints an address that opens the page of a server for whoever asks: once, within ten "
        "minutes.",
    .flags = {kServerFlag, kTokenFlag, kJsonFlag}};

Result<void> print_link(Args args) {
  const auto arguments = KEDGE_TRY(parse_or_help(args, kLinkHelp));
  if (!arguments) {
    return {};
  }
  if (!arguments->positionals().empty() || !arguments->overrides().empty()) {
    return fail(ErrorKind::Usage, "link takes options only",
                fmt::format("usage: {}", kLinkHelp.usage));
  }
  const std::string url = server_of(*arguments).value_or("http://127.0.0.1:8080");
  auto calls = KEDGE_TRY(ServerCalls::open(url, *arguments));
  const auto answer = KEDGE_TRY(calls.send("POST", "/api/v1/entries", nlohmann::json::object()));
  const std::string link = calls.url() + answer.value("path", "/");
  fmt::print("{}\n", arguments->has("--json") ? nlohmann::json{{"link", link}}.dump() : link);
  return {};
}

}  // namespace

int run_server_link(Args args) {
  const auto done = print_link(args);
  return done ? kExitDone : report(done.error());
}

}  // namespace kedge::cli
