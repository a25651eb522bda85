// Who may ask a served model: whoever sends one of the tokens in a file, or, without one, whoever
// is on this machine.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "core/file.h"
#include "core/result.h"
#include "http/http.h"

namespace kedge::use {

class AccessTokens {
 public:
  // A token a line. Usage: others may read the file, or there is none in it.
  static Result<AccessTokens> load(const Path& file);

  AccessTokens() = default;  // none: only this machine's own addresses may be asked for

  // Refuses a request, or nothing. `route` is null where there is nothing at the address.
  std::optional<http::Response> check(const http::Request& request, const http::Route* route) const;

 private:
  std::set<std::string> digests_;  // looking them up tells no time of the tokens
};

}  // namespace kedge::use
