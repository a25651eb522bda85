#include <algorithm>

#include <fmt/format.h>

#include "core/url.h"
#include "core/utf8.h"
#include "http/http.h"
#include "http/internal/route_tree.h"

namespace kedge::http {
namespace {

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> segments;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const auto end = std::min(path.find('/'), path.size());
    segments.emplace_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return segments;
}

std::string join(const std::vector<std::string>& segments, std::size_t from) {
  return fmt::format(
      "{}", fmt::join(segments.begin() + static_cast<std::ptrdiff_t>(from), segments.end(), "/"));
}

std::vector<std::pair<std::string, std::string>> parameters_of(
    const Route& route, const std::vector<std::string>& segments) {
  std::vector<std::pair<std::string, std::string>> parameters;
  for (std::size_t i = 0; i < route.segments.size(); ++i) {
    const std::string_view name = route.segments[i];
    if (takes_rest(name)) {
      parameters.emplace_back(name.substr(1, name.size() - 5), join(segments, i));
    } else if (is_parameter(name)) {
      parameters.emplace_back(name.substr(1, name.size() - 2), segments[i]);
    }
  }
  return parameters;
}

Result<std::string> decode(std::string_view text, bool is_query) {
  std::string plain(text);
  if (is_query) {
    std::ranges::replace(plain, '+', ' ');
  }
  DecodedUrl decoded = decode_url(plain);
  if (!decoded.is_sound) {
    return fail(ErrorKind::Usage, fmt::format("'{}' has a bad percent sign", text));
  }
  if (!is_utf8(decoded.text) || decoded.text.find('\0') != std::string::npos) {
    return fail(ErrorKind::Usage, "the address is not valid UTF-8");
  }
  return std::move(decoded.text);
}

bool leads_elsewhere(std::string_view segment) {
  while (true) {
    const auto end = std::min(segment.find_first_of("/\\"), segment.size());
    const std::string_view part = segment.substr(0, end);
    if (part == "." || part == "..") {
      return true;
    }
    if (end == segment.size()) {
      return false;
    }
    segment.remove_prefix(end + 1);
  }
}

}  // namespace

std::string Target::path() const {
  return "/" + join(segments, 0);
}

Result<Target> parse_target(std::string_view text) {
  if (!text.starts_with('/')) {
    return fail(ErrorKind::Usage, "the address must begin with a slash");
  }
  Target target;
  const auto question = std::min(text.find('?'), text.size());
  for (const std::string& segment : split_path(text.substr(0, question))) {
    target.segments.push_back(KEDGE_TRY(decode(segment, false)));
    if (leads_elsewhere(target.segments.back())) {
      return fail(ErrorKind::Usage, "the address must not hold '.' or '..' between slashes");
    }
  }
  std::string_view rest = text.substr(std::min(question + 1, text.size()));
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    const auto equals = std::min(pair.find('='), pair.size());
    if (!pair.empty()) {
      target.query.emplace_back(
          KEDGE_TRY(decode(pair.substr(0, equals), true)),
          KEDGE_TRY(decode(pair.substr(std::min(equals + 1, pair.size())), true)));
    }
  }
  return target;
}

Router::Router() : tree_(std::make_unique<RouteTree>()) {}

Router::~Router() = default;

void Router::add(Method method, std::string pattern, RouteOptions options, Handler handler) {
  auto segments = split_path(pattern);
  tree_->add(segments, routes_.size());
  routes_.push_back(std::make_unique<Route>(Route{.method = method,
                                                  .pattern = std::move(pattern),
                                                  .options = options,
                                                  .handler = std::move(handler),
                                                  .quick = {},
                                                  .segments = std::move(segments)}));
}

void Router::add_quick(Method method, std::string pattern, RouteOptions options, QuickHandler quick,
                       Handler handler) {
  add(method, std::move(pattern), options, std::move(handler));
  routes_.back()->quick = std::move(quick);
}

void Router::set_fallback(Handler handler) {
  fallback_ = Route{.pattern = "/{path...}",
                    .options = {.role = Role::None},
                    .handler = std::move(handler),
                    .quick = {}};
}

// Those of the path that count: a route for all that is left does so only where it is alone.
std::vector<const Route*> Router::find_all(const std::vector<std::string>& segments) const {
  std::vector<const Route*> found;
  for (const std::size_t number : tree_->find(segments)) {
    found.push_back(routes_[number].get());
  }
  const auto is_for_rest = [](const Route* route) { return route->options.is_for_rest; };
  if (!std::ranges::all_of(found, is_for_rest)) {
    std::erase_if(found, is_for_rest);
  }
  return found;
}

std::vector<Method> Router::methods_of(const std::vector<std::string>& segments) const {
  std::vector<Method> methods;
  for (const Route* route : find_all(segments)) {
    if (std::ranges::find(methods, route->method) == methods.end()) {
      methods.push_back(route->method);
    }
  }
  return methods;
}

RouteMatch Router::find(Method method, const std::vector<std::string>& segments) const {
  RouteMatch match;
  const std::vector<const Route*> found = find_all(segments);
  const auto route = std::ranges::find(found, method, &Route::method);
  if (route != found.end()) {
    match.route = *route;
    match.parameters = parameters_of(**route, segments);
    return match;
  }
  match.allowed = methods_of(segments);
  match.refuse = found.empty() ? unknown_.refuse : found.front()->options.refuse;
  return match;
}

}  // namespace kedge::http
