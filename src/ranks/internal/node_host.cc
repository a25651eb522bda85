#include "ranks/internal/node_host.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/log.h"

namespace kedge::ranks {
namespace {

// A machine that has failed so often is left out.
constexpr int kMostFailures = 3;

}  // namespace

nlohmann::json to_json(const RankView& view) {
  return {{"rank", view.rank},
          {"pid", view.pid},
          {"state", std::string(1, view.state)},
          {"silent_ms", view.silent_ms},
          {"step", view.step},
          {"phase", static_cast<int>(view.phase)},
          {"collective", static_cast<int>(view.collective)},
          {"collectives", view.collectives},
          {"data_s", view.data_s},
          {"exchange_s", view.collective_s},
          {"train_s", view.train_s},
          {"stack", view.stack}};
}

RankView parse_view(const nlohmann::json& json, const std::string& host) {
  RankView view{.rank = json.at("rank"), .host = host, .pid = json.at("pid")};
  view.state = json.at("state").get<std::string>().at(0);
  json.at("silent_ms").get_to(view.silent_ms);
  json.at("step").get_to(view.step);
  view.phase = static_cast<RankPhase>(json.at("phase").get<std::uint32_t>());
  view.collective = static_cast<Collective>(json.at("collective").get<std::uint32_t>());
  json.at("collectives").get_to(view.collectives);
  json.at("data_s").get_to(view.data_s);
  json.at("exchange_s").get_to(view.collective_s);
  json.at("train_s").get_to(view.train_s);
  json.at("stack").get_to(view.stack);
  return view;
}

NodeHost::NodeHost(OwnedFd listener, NodeHostOptions options)
    : listener_(std::move(listener)),
      options_(std::move(options)),
      rule_(options_.restarts),
      incident_(options_.incident) {}

void NodeHost::look() {
  while (auto connection = accept_on(listener_.get())) {
    nodes_.push_back({.socket = std::move(*connection)});
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    for (const nlohmann::json& message : nodes_[i].socket.receive()) {
      try {
        hear(nodes_[i], message);
      } catch (const nlohmann::json::exception&) {
        nodes_[i].socket.close();  // no supervisor of ours
      }
    }
  }
  if (Clock::now() - spoken_ > kBeat) {
    spoken_ = Clock::now();
    for (Node& node : nodes_) {
      node.socket.send({{"beat", rounds_}});
    }
  }
  drop_silent();
  finish_when_done();
  begin_when_ready();
  look_for_hang();
}

std::vector<NodeHost::Node*> NodeHost::nodes_in(Part part) {
  std::vector<Node*> found;
  for (Node& node : nodes_) {
    if (node.part == part) {
      found.push_back(&node);
    }
  }
  return found;
}

void NodeHost::hear(Node& node, const nlohmann::json& message) {
  node.heard = Clock::now();
  if (message.contains("join")) {
    join(node, message.at("join"));
  }
  if (message.contains("run_id")) {
    run_id_ = message.at("run_id").get<std::string>();
  }
  if (message.contains("views")) {
    node.views.clear();
    for (const nlohmann::json& view : message.at("views")) {
      node.views.push_back(parse_view(view, node.host));
    }
  }
  for (const char* word : {"failed", "done"}) {
    if (!message.contains(word)) {
      continue;
    }
    const nlohmann::json& facts = message.at(word);
    node.end = {
        .exit_code = facts.at("exit_code"), .rank = facts.at("rank"), .step = facts.at("step")};
    if (word == std::string_view("done")) {
      node.part = Part::Done;
    } else if (is_running_ && node.part == Part::Running) {
      fail_round(node, node.end, fmt::format("{} on {}", describe(node.end), node.host));
    }
  }
}

void NodeHost::join(Node& node, const nlohmann::json& facts) {
  node.host = facts.at("host").get<std::string>();
  node.ranks = facts.at("ranks");
  node.port = facts.at("port");
  const std::string seen = node.socket.peer_address();
  node.address = seen.starts_with("127.") ? facts.at("address").get<std::string>() : seen;
  if (is_over_ || bad_[node.host] >= kMostFailures) {
    node.socket.send({{"over",
                       {{"exit_code", kExitFailed},
                        {"reason", fmt::format("{} is left out after {} failures", node.host,
                                               bad_[node.host])}}}});
    return;
  }
  node.part = Part::Waiting;
  changed_ = Clock::now();
  if (is_running_) {
    end_round(fmt::format("{} has come: all begin again with it", node.host), true);
  }
}

void NodeHost::drop_silent() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    const bool is_silent = Clock::now() - node.heard > options_.dead_after;
    if (node.socket.is_open() && !is_silent) {
      continue;
    }
    const Node gone = std::move(node);
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(i--));
    if (gone.part == Part::Running && is_running_) {
      RoundEnd end{.exit_code = 128 + 9, .rank = 0, .step = -1};
      for (const RankView& view : gone.views) {
        end.step = std::max(end.step, view.step);
      }
      const std::string how =
          is_silent
              ? fmt::format(
                    "has not been heard for {} s: it, or the network to it, is down",
                    std::chrono::duration_cast<std::chrono::seconds>(options_.dead_after).count())
              : "has closed its connection: its supervisor is gone";
      fail_round(gone, end, fmt::format("machine {} ({}) {}", gone.host, gone.address, how));
    }
    changed_ = Clock::now();
  }
}

void NodeHost::fail_round(const Node& node, const RoundEnd& end, const std::string& what) {
  ++bad_[node.host];
  const bool is_final = end.exit_code == kExitUsage;
  if (is_final || !rule_.may_restart(end)) {
    say("{}; not started again{}", what, is_final ? "" : ": it does not get further");
    finish(end.exit_code, what);
    return;
  }
  say("{}; all ranks are started again (try {} of {} without progress)", what, rule_.failures(),
      options_.restarts);
  end_round(what, false);
}

void NodeHost::end_round(const std::string& reason, bool is_gentle) {
  is_running_ = false;
  incident_ = hang_.empty() ? reason : fmt::format("{}\n{}", reason, hang_);
  changed_ = Clock::now();
  for (Node* node : nodes_in(Part::Running)) {
    node->part = Part::Ending;
    node->socket.send({{"end", {{"reason", reason}, {"is_gentle", is_gentle}}}});
  }
}

void NodeHost::finish(int exit_code, const std::string& reason) {
  is_running_ = false;
  is_over_ = true;
  for (Node& node : nodes_) {
    node.socket.send({{"over", {{"exit_code", exit_code}, {"reason", reason}}}});
  }
}

void NodeHost::finish_when_done() {
  const std::vector<Node*> done = nodes_in(Part::Done);
  if (is_over_ || !is_running_ || done.empty() || !nodes_in(Part::Running).empty()) {
    return;
  }
  int exit_code = kExitDone;
  for (const Node* node : done) {
    exit_code = std::max(exit_code, node->end.exit_code);
  }
  finish(exit_code, "");
}

void NodeHost::begin_when_ready() {
  const std::vector<Node*> waiting = nodes_in(Part::Waiting);
  const auto count = std::ssize(waiting);
  const auto since = Clock::now() - changed_;
  if (is_running_ || is_over_ || !nodes_in(Part::Ending).empty()) {
    return;
  }
  if (count >= options_.most || (count >= options_.least && since > options_.gather)) {
    begin();
  } else if (count > 0 && since > options_.patience) {
    finish(
        kExitFailed,
        fmt::format("only {} of at least {} machines have come in {} s: {}", count, options_.least,
                    std::chrono::duration_cast<std::chrono::seconds>(since).count(), incident_));
  }
}

void NodeHost::begin() {
  std::vector<Node*> chosen = nodes_in(Part::Waiting);
  chosen.resize(std::min(chosen.size(), static_cast<std::size_t>(options_.most)));
  std::int64_t size = 0;
  std::vector<std::string> names;
  for (const Node* node : chosen) {
    size += node->ranks;
    names.push_back(node->host);
  }
  say("round {}: {} ranks on {} machines: {}", ++rounds_, size, chosen.size(),
      fmt::join(names, ", "));
  std::vector<std::string> heirs;
  for (const Node* node : chosen) {
    if (node->host != options_.self) {
      heirs.push_back(node->address);
    }
  }
  std::int64_t first_rank = 0;
  std::int64_t heir = 0;
  for (Node* node : chosen) {
    node->part = Part::Running;
    node->views.clear();
    node->socket.send({{"start",
                        {{"first_rank", first_rank},
                         {"size", size},
                         {"host", chosen.front()->address},
                         {"port", chosen.front()->port},
                         {"run_id", run_id_},
                         {"incident", incident_},
                         {"heirs", heirs},
                         {"heir", node->host == options_.self ? -1 : heir++}}}});
    first_rank += node->ranks;
  }
  is_running_ = true;
  is_hang_told_ = false;
  hang_.clear();
}

// Over all machines: a rank that hangs on one makes the others wait on theirs.
void NodeHost::look_for_hang() {
  std::vector<RankView> views;
  std::int64_t silent_ms = std::numeric_limits<std::int64_t>::max();
  for (const Node* node : nodes_in(Part::Running)) {
    for (const RankView& view : node->views) {
      const bool is_training = view.phase >= RankPhase::Data && view.phase < RankPhase::Lost;
      silent_ms = is_training ? std::min(silent_ms, view.silent_ms) : 0;
      views.push_back(view);
    }
  }
  const bool is_hanging = is_running_ && !views.empty() && silent_ms >= options_.stall.count();
  if (is_hanging && !std::exchange(is_hang_told_, true)) {
    hang_ = render_hang(views);
    print_line(hang_);
    for (Node* node : nodes_in(Part::Running)) {
      node->socket.send({{"note", hang_}});
    }
  }
  is_hang_told_ = is_hang_told_ && is_hanging;
}

}  // namespace kedge::ranks
