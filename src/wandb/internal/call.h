// One request of a client, and what its answer is made with.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "http/http.h"
#include "server/api.h"
#include "store/dialect/transcript.h"
#include "store/run.h"
#include "wandb/internal/links.h"

namespace kedge::wandb {

struct Call {
  const server::Api& api;
  const Links& links;
  const http::Request& request;
  mutable std::size_t answer_bytes = 0;  // of the long texts among all fields of the answer

  store::Transcript transcript() const { return store::Transcript(api.store); }

  std::int64_t now_us() const { return api.now_us(); }

  // kedge has no entities: it is the user's name, and "kedge" where nobody logs in.
  std::string viewer() const;
  // An entity is answered back as it was asked for.
  std::string entity_or_viewer(const std::optional<std::string>& asked) const;

  // Counts a part of the answer that can be long. Usage when all parts together are too long: a
  // query may ask for the same field under many names.
  Result<void> count_answer(std::size_t bytes) const;

  // Usage when the caller's key is for another project or run.
  Result<void> check(const std::string& project, const std::string& run = {}) const;

  // "http://host:8080", as the client knows us.
  std::string base_url() const;
  // An absolute address that stands for `meaning` for a day: uploads of large files are slow, and
  // clients come back to an address after a server was down.
  std::string signed_url(const nlohmann::json& meaning, const std::string& name) const;
};

}  // namespace kedge::wandb
