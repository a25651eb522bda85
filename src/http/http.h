// Requests, answers and routes of the HTTP server, without its sockets (server/listener.h).
// Handlers are plain functions from a Request to a Response; the room's other files are handlers.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::http {

enum class Method : std::uint8_t { Get, Post, Put, Patch, Delete };

std::string_view name_of(Method method);

// Each may do what those before it may.
enum class Role : std::uint8_t { None, View, Write, Admin };

// Who asks, as server/access.h found out before the body was read.
struct Caller {
  std::string name = {};  // empty: nobody has logged in, and nobody has to
  Role role = Role::None;
  std::string project = {};     // not empty: only this project's runs
  std::string run = {};         // not empty: only this run of it
  bool is_by_password = false;  // sent with the request: nobody else can know it
  std::int64_t expires_us = 0;  // when the key ends that was sent; 0: never
};

// Names in lower case, in the order they came.
class Headers {
 public:
  // Line ends in the value are left out: what users have stored must not become a header.
  void add(std::string name, std::string value);

  // The first one's value, or nothing.
  std::optional<std::string_view> find(std::string_view name) const;

  auto begin() const { return entries_.begin(); }

  auto end() const { return entries_.end(); }

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
};

struct Request {
  Method method = Method::Get;
  bool is_head = false;  // answered as GET, and only the body left out
  std::string path;      // decoded: "/api/v1/projects"
  std::vector<std::pair<std::string, std::string>> query;
  std::vector<std::pair<std::string, std::string>> parameters;  // of the route's path
  Headers headers;
  std::string body;                         // decompressed
  std::shared_ptr<const Path> body_file{};  // of routes that spool; gone when the last owner is
  std::string peer;                         // address without port
  bool is_secure = false;                   // came over TLS
  std::shared_ptr<const std::atomic<bool>> has_left{};  // of routes that are long: the client has
  Caller caller;

  // A parameter that the route has.
  const std::string& parameter(std::string_view name) const;
  // The first value of this name in the query, or nothing.
  std::optional<std::string_view> query_value(std::string_view name) const;
  // A number from the query, `fallback` when it is not there; Usage when it is no number.
  Result<std::int64_t> query_number(std::string_view name, std::int64_t fallback) const;
};

struct FileBody {
  std::shared_ptr<OwnedFd> file;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

// Called on a worker until it returns false; what it adds to `chunk` is sent. After an error the
// connection is cut, so that the client does not take a part for the whole.
using BodyProducer = std::function<Result<bool>(std::string& chunk)>;

// A body that goes on until somebody closes it: server-sent events. For any thread. A receiver that
// lets too much wait is dropped; the sender never waits.
class PushStream {
 public:
  virtual ~PushStream() = default;
  virtual bool push(std::shared_ptr<const std::string> text) = 0;  // false: it is closed
  // Nothing more comes: what waits is sent, and the answer is whole.
  virtual void finish() = 0;
};

// Called with the stream once the head is sent; what it returns is kept until the stream closes.
using PushStart = std::function<std::shared_ptr<void>(std::shared_ptr<PushStream> stream)>;

struct Refusal {
  std::string message;
  std::string hint;
};

struct Response {
  int status = 200;
  Headers headers = {};  // Content-Length only of what is produced; no Date, no Connection
  // A string_view is of bytes that live as long as the program.
  std::variant<std::string, std::string_view, FileBody, BodyProducer, PushStart> body = {};
  std::optional<Refusal> refusal = {};  // of error_response(): what the body says
};

Response json_response(std::string body, int status = 200);

// {"error": {"code", "message", "hint"}}; the code is the status's ("not_found").
Response error_response(int status, std::string_view message, std::string_view hint = {});

// The same for an Error: Usage 400, NotFound 404, Corrupt 422, Unavailable 503, Io 500 (507 when
// the disk is full).
Response error_response(const Error& error);

// A file or a part of it, as Range, If-None-Match and If-Range ask. `etag` without quotes.
struct FileAnswer {
  std::shared_ptr<OwnedFd> file;
  std::uint64_t size = 0;
  std::string etag;
  std::string content_type;
  // In place of a file: what gives these bytes piece by piece, where they are somewhere else.
  std::function<BodyProducer(std::uint64_t offset, std::uint64_t size)> produce = {};
};

Response file_response(const Request& request, const FileAnswer& answer);

// The content type of a file name's ending; application/octet-stream when not known.
std::string_view content_type_of(std::string_view path);

// Whether If-None-Match names this etag (without quotes).
bool is_not_modified(const Request& request, std::string_view etag);

using Handler = std::function<Result<Response>(const Request& request)>;
// For calls so short and frequent that a worker costs more: runs on the connection's thread, must
// not wait, and answers later, once, from any thread.
using Answer = std::function<void(Response response)>;
using QuickHandler = std::function<void(Request&& request, Answer answer)>;

// An error in the form that a route's clients understand.
using RefusalWriter = Response (*)(int status, const Refusal& refusal);

struct RouteOptions {
  Role role = Role::View;
  std::uint64_t max_body_bytes = 1U << 20U;  // after decompression
  // Has no {project} in its path, and its handler itself heeds Caller::project and Caller::run;
  // without this, a key for one project is refused.
  bool is_scoped = false;
  // Answers only where no other route has the path, with whatever method.
  bool is_for_rest = false;
  bool is_spooled = false;  // the body goes to a file, as it is: not decompressed
  bool is_long = false;     // answers may take long: who closes the connection meanwhile has_left
  // Long answers may be compressed. Never where an answer holds a secret (a key, a signed address):
  // its length would tell of it to whoever can choose another part of the answer.
  bool is_compressed = false;
  RefusalWriter refuse = nullptr;  // null: as error_response() does
};

// What those are told who ask for an address that there is not, or who do not speak HTTP.
struct UnknownAddress {
  std::string hint = {};           // what to do instead
  RefusalWriter refuse = nullptr;  // null: as error_response() does
};

struct Route {
  Method method = Method::Get;
  std::string pattern;  // "/api/v1/runs/{project}/{id}/files/{path...}"
  RouteOptions options;
  Handler handler;
  QuickHandler quick;                      // for small bodies, in place of the handler
  std::vector<std::string> segments = {};  // of the pattern
};

struct RouteMatch {
  const Route* route = nullptr;
  std::vector<std::pair<std::string, std::string>> parameters;
  std::vector<Method> allowed;     // where the path is known, but not with this method
  RefusalWriter refuse = nullptr;  // and how those who use it are told
};

class RouteTree;  // server/internal/route_tree.h

class Router {
 public:
  Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;
  ~Router();

  // Where several routes have a path and its method, the one that was added first is found.
  void add(Method method, std::string pattern, RouteOptions options, Handler handler);
  // `handler` may be empty: then `quick` takes all.
  void add_quick(Method method, std::string pattern, RouteOptions options, QuickHandler quick,
                 Handler handler = {});
  // What answers GET of any path that no route has.
  void set_fallback(Handler handler);

  void set_unknown(UnknownAddress unknown) { unknown_ = std::move(unknown); }

  const UnknownAddress& unknown() const { return unknown_; }

  RouteMatch find(Method method, const std::vector<std::string>& segments) const;
  std::vector<Method> methods_of(const std::vector<std::string>& segments) const;

  const Route* fallback() const { return fallback_ ? &*fallback_ : nullptr; }

  const std::vector<std::unique_ptr<Route>>& routes() const { return routes_; }

 private:
  std::vector<const Route*> find_all(const std::vector<std::string>& segments) const;

  std::unique_ptr<RouteTree> tree_;  // the numbers are places in routes_
  std::vector<std::unique_ptr<Route>> routes_;
  std::optional<Route> fallback_;
  UnknownAddress unknown_;
};

// "/a%20b/c?x=1" as it stands in a request. Usage for what is no path: without a leading slash, bad
// percent signs, zero bytes, invalid UTF-8, and anything with a "." or ".." between slashes,
// however it is encoded: no handler ever sees one.
struct Target {
  std::vector<std::string> segments;  // decoded
  std::vector<std::pair<std::string, std::string>> query;

  std::string path() const;
};

Result<Target> parse_target(std::string_view text);

}  // namespace kedge::http
