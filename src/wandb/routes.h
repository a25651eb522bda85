// The W&B dialect of the server: what unmodified `wandb` clients ask of WANDB_BASE_URL, answered
// from the same store as everything else. docs/reference/wandb.md is for its users.
//
// This room knows the wire (GraphQL, file_stream, signed addresses for bytes) and how its words map
// to kedge's; it keeps nothing itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "graphql/execute.h"
#include "http/http.h"
#include "server/api.h"

namespace kedge::wandb {

// Answers the GraphQL documents of another dialect that has the address /graphql too, and nothing
// for all others.
using OtherDialect = std::function<std::optional<http::Response>(
    const http::Request& request, const graphql::Question& question)>;

// Clients give a sign of life every 30 seconds.
inline constexpr std::int64_t kSilence_us = 300'000'000;

// `api` must outlive the router.
void add_routes(http::Router& router, const server::Api& api, OtherDialect other = {});

}  // namespace kedge::wandb
