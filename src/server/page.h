// The web page's files, out of the program itself.
#pragma once

#include "server/http.h"

namespace kedge::server {

// Answers every path that is no API's: a file of the page, or a redirect to the page with the path
// behind "#/at", where the page looks up what addresses of other tools' clients mean. Files named
// by their content are cached for ever, others asked for again.
Result<Response> page_response(const Request& request);

}  // namespace kedge::server
