// The web page's files, out of the program itself.
#pragma once

#include "http/http.h"

namespace kedge::server {

// Answers every path that is no API's: a file of the page, or a redirect to the page with the path
// behind "#/at", where the page looks up what addresses of other tools' clients mean. Files named
// by their content are cached for ever, others asked for again.
Result<http::Response> page_response(const http::Request& request);

}  // namespace kedge::server
