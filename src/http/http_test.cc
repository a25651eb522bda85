#include "http/http.h"

#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include "core/scratch_folder.h"
#include "http/decompress.h"
#include "http/internal/compress.h"

namespace kedge::http {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

Result<Response> nothing(const Request&) {
  return Response{};
}

TEST(ParseTarget, decodes_path_and_query) {
  const auto target = parse_target("/api/a%20b/%C3%A4?key=val%2Floss&x=1+2&empty=&flag");
  ASSERT_TRUE(target.has_value());
  EXPECT_THAT(target->segments, ElementsAre("api", "a b", "\xC3\xA4"));
  EXPECT_THAT(target->query, ElementsAre(Pair("key", "val/loss"), Pair("x", "1 2"),
                                         Pair("empty", ""), Pair("flag", "")));
}

TEST(ParseTarget, refuses_every_way_out_of_a_folder) {
  for (const char* text : {"/a/../b", "/..", "/a/%2e%2e/b", "/a/%2E./b", "/a%2F..%2Fb", "/..%5Cb",
                           "/a/./b", "/a/.%2e", "x", "", "http://host/a"}) {
    EXPECT_FALSE(parse_target(text).has_value()) << text;
  }
  EXPECT_TRUE(parse_target("/a/...b/..c/d..").has_value());
}

TEST(ParseTarget, refuses_bytes_that_are_no_text) {
  for (const char* text : {"/a%", "/a%2", "/a%zz", "/a%00b", "/a%ff", "/a%c0%ae", "/%ed%a0%80"}) {
    EXPECT_FALSE(parse_target(text).has_value()) << text;
  }
}

TEST(Router, finds_parameters_and_the_rest_of_a_path) {
  Router router;
  router.add(Method::Get, "/runs/{project}/{id}", {}, nothing);
  router.add(Method::Get, "/runs/{project}/{id}/files/{path...}", {}, nothing);
  router.add(Method::Delete, "/runs/{project}/{id}", {}, nothing);
  const auto run = router.find(Method::Get, {"runs", "p", "x"});
  ASSERT_NE(run.route, nullptr);
  EXPECT_THAT(run.parameters, ElementsAre(Pair("project", "p"), Pair("id", "x")));
  const auto file = router.find(Method::Get, {"runs", "p", "x", "files", "a", "b.png"});
  ASSERT_NE(file.route, nullptr);
  EXPECT_THAT(file.parameters, testing::Contains(Pair("path", "a/b.png")));
  EXPECT_EQ(router.find(Method::Get, {"runs", "p", "x", "files"}).route, nullptr);
  EXPECT_EQ(router.find(Method::Get, {"runs", "", "x"}).route, nullptr);
  EXPECT_THAT(router.find(Method::Put, {"runs", "p", "x"}).allowed,
              ElementsAre(Method::Get, Method::Delete));
  EXPECT_THAT(router.find(Method::Put, {"nowhere"}).allowed, IsEmpty());
}

TEST(Router, finds_a_name_among_many_and_the_first_of_two) {
  Router router;
  for (int i = 0; i < 500; ++i) {
    router.add(Method::Post, "/calls/number-" + std::to_string(i), {}, nothing);
  }
  router.add(Method::Post, "/calls/{name}", {}, nothing);
  router.add(Method::Get, "/runs/{project}", {}, nothing);
  router.add(Method::Get, "/runs/search", {}, nothing);
  router.add(Method::Get, "/{entity}/{project}/runs/{run}", {}, nothing);
  EXPECT_EQ(router.find(Method::Post, {"calls", "number-250"}).route->pattern, "/calls/number-250");
  EXPECT_EQ(router.find(Method::Post, {"calls", "other"}).route->pattern, "/calls/{name}");
  EXPECT_EQ(router.find(Method::Get, {"runs", "search"}).route->pattern, "/runs/{project}");
  // A name that leads nowhere does not hide a parameter in its place.
  EXPECT_EQ(router.find(Method::Get, {"runs", "p", "runs", "x"}).route->pattern,
            "/{entity}/{project}/runs/{run}");
}

TEST(Router, knows_the_methods_of_a_path_that_a_route_for_the_rest_also_has) {
  Router router;
  router.add(Method::Post, "/api/runs/create", {}, nothing);
  for (const Method method : {Method::Get, Method::Post}) {
    router.add(method, "/api/{rest...}", {.is_for_rest = true}, nothing);
  }
  const auto wrong = router.find(Method::Get, {"api", "runs", "create"});
  EXPECT_EQ(wrong.route, nullptr);
  EXPECT_THAT(wrong.allowed, ElementsAre(Method::Post));
  EXPECT_EQ(router.find(Method::Get, {"api", "other"}).route->pattern, "/api/{rest...}");
}

TEST(Headers, takes_no_second_line) {
  Headers headers;
  headers.add("Location", "http://a/\r\nSet-Cookie: x=y");
  EXPECT_EQ(headers.find("Location"), "http://a/Set-Cookie: x=y");
}

TEST(ErrorResponse, has_the_status_and_code_of_its_kind) {
  const Response response = error_response(Error{ErrorKind::NotFound, "no \"x\"", "look"});
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(std::get<std::string>(response.body),
            R"({"error":{"code":"not_found","hint":"look","message":"no \"x\""}})");
  EXPECT_EQ(error_response(Error{ErrorKind::Io, "write x: No space left on device"}).status, 507);
  EXPECT_EQ(error_response(Error{ErrorKind::Unavailable, "later"}).headers.find("Retry-After"),
            "1");
}

class FileResponse : public testing::Test {
 protected:
  Response get(const std::string& range, const std::string& none_match = "",
               const std::string& if_range = "") {
    EXPECT_TRUE(write_file_atomic(folder_ / "f", "0123456789"));
    Request request;
    request.headers.add("range", range);
    request.headers.add("if-none-match", none_match);
    if (!if_range.empty()) {
      request.headers.add("if-range", if_range);
    }
    auto file = std::make_shared<OwnedFd>(::open((folder_ / "f").c_str(), O_RDONLY));
    return file_response(
        request,
        {.file = std::move(file), .size = 10, .etag = "tag", .content_type = "text/plain"});
  }

 private:
  ScratchFolder folder_;
};

// The examples of RFC 9110, 14.1.2, for a file of ten bytes.
TEST_F(FileResponse, gives_the_part_that_was_asked_for) {
  for (const auto& [range, offset, size] : {std::tuple{"bytes=0-4", 0, 5},
                                            {"bytes=5-", 5, 5},
                                            {"bytes=-3", 7, 3},
                                            {"bytes=-99", 0, 10},
                                            {"bytes=8-99", 8, 2},
                                            {"bytes=9-9", 9, 1}}) {
    const Response response = get(range);
    EXPECT_EQ(response.status, 206) << range;
    const auto& body = std::get<FileBody>(response.body);
    EXPECT_EQ(body.offset, offset) << range;
    EXPECT_EQ(body.size, size) << range;
  }
  EXPECT_EQ(get("bytes=5-7").headers.find("Content-Range"), "bytes 5-7/10");
}

TEST_F(FileResponse, asks_for_the_part_where_the_bytes_are_somewhere_else) {
  Request request;
  request.headers.add("range", "bytes=5-7");
  const auto produce = [](std::uint64_t offset, std::uint64_t size) {
    return [=](std::string& chunk) -> Result<bool> {
      chunk += std::string("0123456789").substr(offset, size);
      return false;
    };
  };
  const Response response = file_response(request, {.file = nullptr,
                                                    .size = 10,
                                                    .etag = "tag",
                                                    .content_type = "text/plain",
                                                    .produce = produce});
  EXPECT_EQ(response.status, 206);
  std::string body;
  EXPECT_FALSE(std::get<BodyProducer>(response.body)(body).value());
  EXPECT_EQ(body, "567");
}

TEST_F(FileResponse, gives_the_whole_for_a_range_it_does_not_understand) {
  for (const char* range :
       {"", "bytes=a-b", "bytes=3-1", "lines=1-2", "bytes=0-1,4-5", "bytes=-"}) {
    const Response response = get(range);
    EXPECT_EQ(response.status, 200) << range;
    EXPECT_EQ(std::get<FileBody>(response.body).size, 10U) << range;
  }
}

TEST_F(FileResponse, refuses_a_part_beyond_the_end) {
  EXPECT_EQ(get("bytes=10-").status, 416);
  EXPECT_EQ(get("bytes=10-").headers.find("Content-Range"), "bytes */10");
  EXPECT_EQ(get("bytes=-0").status, 416);
}

TEST_F(FileResponse, is_not_sent_again_to_who_has_it) {
  EXPECT_EQ(get("", "\"other\", \"tag\"").status, 304);
  EXPECT_EQ(get("", "\"other\"").status, 200);
  EXPECT_EQ(get("bytes=0-1", "", "\"tag\"").status, 206);
  EXPECT_EQ(get("bytes=0-1", "", "\"older\"").status, 200);
}

std::string zstd(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

int status_of(const std::variant<std::string, Response>& outcome) {
  const auto* refusal = std::get_if<Response>(&outcome);
  return refusal != nullptr ? refusal->status : 200;
}

TEST(Decompress, gives_back_what_was_compressed) {
  const std::string text(100'000, 'x');
  EXPECT_EQ(std::get<std::string>(decompress(gzip(text, 9), "gzip", 100'000)), text);
  EXPECT_EQ(std::get<std::string>(decompress(zstd(text), "zstd", 100'000)), text);
  EXPECT_EQ(std::get<std::string>(decompress(text, "", 1)), text);
}

TEST(Decompress, refuses_bombs_damage_and_unknown_encodings) {
  const std::string zeros(64U << 20U, '\0');
  for (const auto& [bomb, name] : {std::pair{gzip(zeros, 9), "gzip"}, {zstd(zeros), "zstd"}}) {
    EXPECT_LT(bomb.size(), 100'000U);
    EXPECT_EQ(status_of(decompress(bomb, name, 1U << 20U)), 413) << name;
    EXPECT_EQ(status_of(decompress(bomb.substr(0, bomb.size() / 2), name, 100U << 20U)), 400);
    EXPECT_EQ(status_of(decompress("not compressed", name, 100)), 400) << name;
    EXPECT_EQ(status_of(decompress("", name, 100)), 400) << name;
  }
  EXPECT_EQ(status_of(decompress("x", "br", 100)), 415);
}

}  // namespace
}  // namespace kedge::http
