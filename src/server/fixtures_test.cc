// tests/fixtures/api is the contract between this server and the page: requests.json says what a
// store was told and what is asked of it, the other files are the answers, which the page's own
// tests read. After a wanted change: KEDGE_WRITE_FIXTURES=1 server_test --gtest_filter='Fixtures.*'
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/scratch_folder.h"
#include "http/http.h"
#include "server/access.h"
#include "server/api.h"
#include "server/sweep_host.h"

namespace kedge::server {
namespace {

constexpr std::int64_t kNow = 1'794'719'617'490'327;

const Path kFolder = Path(KEDGE_FIXTURES) / "api";

nlohmann::json read_fixture(const std::string& name) {
  return nlohmann::json::parse(read_file(kFolder / (name + ".json")).value_or("null"));
}

http::Method method_named(std::string_view name) {
  for (const http::Method method : {http::Method::Get, http::Method::Post, http::Method::Put,
                                    http::Method::Patch, http::Method::Delete}) {
    if (name_of(method) == name) {
      return method;
    }
  }
  KEDGE_CHECK(false, "a method that no route has");
}

// A server without sockets: routes, rights and handlers are the real ones.
class TestServer {
 public:
  TestServer()
      : store_(store::Store::open(folder_.path().string(), kNow).value()),
        blobs_(store::BlobStore::open((folder_ / "blobs").string()).value()),
        access_(Access::open(*store_, {}, [] { return kNow; }).value()),
        artifacts_(*store_, *blobs_),
        models_(*store_),
        api_{*store_,  *blobs_, artifacts_, models_,
             *access_, events_, sweeps_,    [] { return kNow; }} {
    add_api_routes(router_, api_);
  }

  std::string answer(const nlohmann::json& asked) {
    const auto method = asked.at("method").get<std::string>();
    const auto path = asked.at("path").get<std::string>();
    const auto target = http::parse_target("/api/v1/" + path);
    http::Request request;
    request.method = method_named(method);
    request.peer = "127.0.0.1";
    request.headers.add("host", "127.0.0.1");
    request.query = target->query;
    request.body = asked.contains("body") ? asked["body"].dump() : "";
    const http::RouteMatch match = router_.find(request.method, target->segments);
    if (match.route == nullptr) {
      return "no such route";
    }
    request.parameters = match.parameters;
    if (auto refusal = access_->check(request, match.route)) {
      return std::get<std::string>(refusal->body);
    }
    const auto response = match.route->handler(request);
    return response ? std::get<std::string>(response->body) : response.error().message;
  }

 private:
  ScratchFolder folder_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::BlobStore> blobs_;
  std::unique_ptr<Access> access_;
  store::Artifacts artifacts_;
  store::Models models_;
  EventHub events_;
  SweepHost sweeps_{*store_, [] { return kNow; }};
  Api api_;
  http::Router router_;
};

TEST(Fixtures, are_what_the_server_answers) {
  TestServer server;
  const nlohmann::json requests = read_fixture("requests");
  for (const nlohmann::json& request : requests.at("made_by")) {
    EXPECT_THAT(server.answer(request), testing::Not(testing::HasSubstr("error")))
        << request.dump();
  }
  const bool is_writing = std::getenv("KEDGE_WRITE_FIXTURES") != nullptr;
  std::set<std::string> files = {"requests.json"};
  for (const auto& [name, request] : requests.at("asked").items()) {
    const std::string text = server.answer(request);
    const auto answer = nlohmann::json::parse(text, nullptr, false);
    ASSERT_FALSE(answer.is_discarded()) << name << ": " << text;
    if (is_writing) {
      ASSERT_TRUE(write_file_atomic(kFolder / (name + ".json"), answer.dump(2) + "\n"));
    }
    EXPECT_EQ(answer, read_fixture(name)) << name;
    files.insert(name + ".json");
  }
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    found.insert(entry.path().filename().string());
  }
  EXPECT_EQ(found, files) << "each file is asked for";
}

}  // namespace
}  // namespace kedge::server
