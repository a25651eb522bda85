#include "ranks/rank_place.h"

#include <charconv>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/inside_job.h"

namespace kedge::ranks {
namespace {

constexpr int kTorchrunPort = 29500;

Result<std::optional<std::int64_t>> find_whole_number(const FindVariable& find, const char* name) {
  const auto text = find(name);
  if (!text || text->empty()) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const char* last = text->data() + text->size();
  const auto [end, error] = std::from_chars(text->data(), last, value);
  if (error != std::errc() || end != last || value < 0) {
    return fail(ErrorKind::Usage, fmt::format("{}={} is no whole number", name, *text));
  }
  return value;
}

// MASTER_ADDR and MASTER_PORT, where they are set, else what the scheduler gives.
Result<void> find_meeting_point(const FindVariable& find, std::string& host, int& port) {
  if (auto given = find("MASTER_ADDR"); given && !given->empty()) {
    host = std::move(*given);
  }
  if (const auto given = KEDGE_TRY(find_whole_number(find, "MASTER_PORT"))) {
    if (*given == 0 || *given > 65535) {
      return fail(ErrorKind::Usage, fmt::format("MASTER_PORT={} is no port", *given));
    }
    port = static_cast<int>(*given);
  }
  return {};
}

Result<void> check(const RankPlace& place) {
  if (place.size < 1 || place.rank >= place.size) {
    return fail(
        ErrorKind::Usage,
        fmt::format("rank {} of {} ranks cannot be ({})", place.rank, place.size, place.source),
        "ranks count from 0; RANK must be below WORLD_SIZE");
  }
  if (place.size > 1 && place.host.empty()) {
    return fail(ErrorKind::Usage,
                fmt::format("rank {} of {} does not know where rank 0 is ({})", place.rank,
                            place.size, place.source),
                "set MASTER_ADDR to the host of rank 0 and MASTER_PORT to a free port there");
  }
  return {};
}

Result<std::optional<RankPlace>> find_torchrun(const FindVariable& find) {
  const auto size = KEDGE_TRY(find_whole_number(find, "WORLD_SIZE"));
  const auto rank = KEDGE_TRY(find_whole_number(find, "RANK"));
  if (!size && !rank) {
    return std::nullopt;
  }
  if (!size || !rank) {
    return fail(ErrorKind::Usage,
                fmt::format("{} is set, but {} is not", size ? "WORLD_SIZE" : "RANK",
                            size ? "RANK" : "WORLD_SIZE"),
                "whoever starts the ranks must give each its RANK and all the WORLD_SIZE; without "
                "it every process would take itself for rank 0");
  }
  RankPlace place{.rank = *rank,
                  .size = *size,
                  .host = "",
                  .port = kTorchrunPort,
                  .source = "torchrun's variables"};
  place.local_rank = KEDGE_TRY(find_whole_number(find, "LOCAL_RANK")).value_or(0);
  place.local_size = KEDGE_TRY(find_whole_number(find, "LOCAL_WORLD_SIZE")).value_or(place.size);
  KEDGE_TRY(find_meeting_point(find, place.host, place.port));
  return place;
}

// A step of more than one task.
Result<std::optional<RankPlace>> find_in_job(const FindVariable& find) {
  const auto step = KEDGE_TRY(find_job_step(find));
  if (!step || !step->rank || step->tasks < 2) {
    return std::nullopt;
  }
  RankPlace place{.rank = *step->rank,
                  .size = step->tasks,
                  .local_rank = step->local_rank,
                  .local_size = step->local_tasks,
                  .host = step->first_host,
                  .port = port_of_job(step->job, step->number),
                  .source = step->source};
  KEDGE_TRY(find_meeting_point(find, place.host, place.port));
  return place;
}

struct MpiNames {
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
  const char* what;
};

Result<std::optional<RankPlace>> find_mpi(const FindVariable& find, const MpiNames& names) {
  const auto rank = KEDGE_TRY(find_whole_number(find, names.rank));
  const auto size = KEDGE_TRY(find_whole_number(find, names.size));
  if (!rank || !size || *size < 2) {
    return std::nullopt;
  }
  RankPlace place{
      .rank = *rank, .size = *size, .host = "", .port = kTorchrunPort, .source = names.what};
  place.local_rank = KEDGE_TRY(find_whole_number(find, names.local_rank)).value_or(0);
  place.local_size = KEDGE_TRY(find_whole_number(find, names.local_size)).value_or(place.size);
  KEDGE_TRY(find_meeting_point(find, place.host, place.port));
  if (place.host.empty() && place.local_size == place.size) {
    place.host = "127.0.0.1";
  }
  return place;
}

Result<std::pair<std::string, int>> parse_endpoint(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  int port = 0;
  if (colon != std::string::npos && colon > 0) {
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data() + colon + 1, last, port);
    if (error == std::errc() && end == last && port > 0 && port <= 65535) {
      return std::pair(text.substr(0, colon), port);
    }
  }
  return fail(ErrorKind::Usage, fmt::format("dist.endpoint '{}' is not host:port", text),
              "for example dist.endpoint=node1:29500");
}

}  // namespace

int port_of_job(std::int64_t job, std::int64_t step) {
  // Below Linux's usual range of ports for outgoing connections, 32768 and up.
  constexpr std::int64_t kFirst = 18'000;
  constexpr std::int64_t kCount = 14'000;
  return static_cast<int>(kFirst + (job * 16 + step % 16) % kCount);
}

Result<std::optional<RankPlace>> find_rank_place(const FindVariable& find) {
  std::optional<RankPlace> place = KEDGE_TRY(find_torchrun(find));
  if (!place) {
    place = KEDGE_TRY(find_in_job(find));
  }
  if (!place) {
    place = KEDGE_TRY(find_mpi(
        find, {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
               "OMPI_COMM_WORLD_LOCAL_SIZE", "Open MPI's variables"}));
  }
  if (!place) {
    place = KEDGE_TRY(find_mpi(
        find, {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI's variables"}));
  }
  if (place) {
    KEDGE_TRY(check(*place));
  }
  return place;
}

Result<std::optional<NodePlace>> find_node_place(const FindVariable& find,
                                                 const std::string& endpoint) {
  NodePlace place{.host = "", .port = kTorchrunPort, .source = ""};
  const auto node = KEDGE_TRY(find_whole_number(find, "NODE_RANK"));
  const auto nodes = KEDGE_TRY(find_whole_number(find, "NNODES"));
  const auto step = KEDGE_TRY(find_job_step(find));
  if (node) {
    place.node = *node;
    place.nodes = nodes.value_or(1);
    place.source = "NODE_RANK and NNODES";
  } else if (step && step->nodes > 1 && step->tasks == step->nodes) {
    place.node = step->node;
    place.nodes = step->nodes;
    place.host = step->first_host;
    place.port = port_of_job(step->job, step->number);
    place.source = step->source;
  } else if (endpoint.empty()) {
    return std::nullopt;
  } else {
    place.source = "dist.endpoint";
    place.node = -1;  // whoever can listen there is the first
  }
  KEDGE_TRY(find_meeting_point(find, place.host, place.port));
  if (!endpoint.empty()) {
    std::tie(place.host, place.port) = KEDGE_TRY(parse_endpoint(endpoint));
  }
  if (place.host.empty()) {
    return fail(ErrorKind::Usage, "the machines do not know where to meet",
                "set dist.endpoint=HOST:PORT to the first machine, the same on all");
  }
  return place;
}

}  // namespace kedge::ranks
