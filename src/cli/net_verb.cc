#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/shared/arguments.h"
#include "cli/shared/json_output.h"
#include "cli/verbs.h"
#include "core/log.h"
#include "core/result.h"
#include "core/signals.h"
#include "ranks/net_check.h"
#include "ranks/rank_place.h"

namespace kedge::cli {
namespace {

const VerbHelp kNetHelp = {
    .usage = "kedge net listen PORT | kedge net check HOST:PORT",
    .text =
        "Whether two machines reach each other, and how fast: `listen` on one, `check` on the "
        "other. Prints the round trip, the speed and the address that was used.",
    .flags = {kJsonFlag}};

// An endpoint's parts; dist.endpoint is read by the same rules.
Result<ranks::NetCheckOptions> parse_target(const std::string& text) {
  const auto nothing = [](const char*) { return std::optional<std::string>(); };
  const auto place = ranks::find_node_place(nothing, text);
  if (!place || !*place) {
    return fail(ErrorKind::Usage, fmt::format("'{}' is not HOST:PORT", text));
  }
  return ranks::NetCheckOptions{.host = (*place)->host, .port = (*place)->port};
}

Result<void> check_connection(const Arguments& arguments) {
  const auto options = KEDGE_TRY(parse_target(arguments.positionals()[1]));
  const auto report = KEDGE_TRY(ranks::check_net(options));
  if (arguments.has("--json")) {
    const nlohmann::json json = {{"host", options.host},
                                 {"port", options.port},
                                 {"own_address", report.own_address},
                                 {"round_trip_s", report.round_trip_s},
                                 {"bytes_per_s", report.bytes_per_s}};
    print_json(json);
  } else {
    fmt::print("{}:{} is reached from {}: {:.3g} ms round trip, {:.3g} Gbit/s\n", options.host,
               options.port, report.own_address, report.round_trip_s * 1e3,
               report.bytes_per_s * 8e-9);
  }
  return {};
}

Result<void> listen(const Arguments& arguments) {
  const auto target = KEDGE_TRY(parse_target("here:" + arguments.positionals()[1]));
  const StopSignals signals;
  say("listening on port {}; `kedge net check THIS_HOST:{}` elsewhere tries the way; Ctrl-C ends",
      target.port, target.port);
  return ranks::answer_net_checks(
      target.port, [&] { return signals.requested().has_value(); },
      [](const std::string& who) { say("checked from {}", who); });
}

}  // namespace

int run_net(Args args) {
  const auto arguments = parse_or_help(args, kNetHelp);
  if (!arguments) {
    return report(arguments.error());
  }
  if (!*arguments) {
    return kExitDone;
  }
  const auto& words = (*arguments)->positionals();
  if (words.size() != 2 || (words[0] != "listen" && words[0] != "check")) {
    return report({ErrorKind::Usage, "kedge net needs `listen PORT` or `check HOST:PORT`"});
  }
  const auto done = words[0] == "listen" ? listen(**arguments) : check_connection(**arguments);
  return done ? kExitDone : report(done.error());
}

}  // namespace kedge::cli
