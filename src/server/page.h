// The web page's files, out of the program itself.
#pragma once

#include "server/http.h"

namespace kedge::server {

// Answers every path that is no API's: a file of the page, or its index.html, because the page has
// addresses of its own. Files named by their content are cached for ever, others asked for again.
Result<Response> page_response(const Request& request);

}  // namespace kedge::server
