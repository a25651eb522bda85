#include "server/page.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace kedge::server {
namespace {

TEST(PageResponse, leads_from_a_path_to_the_place_of_that_name_on_the_page) {
  const auto location = [](std::string path, auto... query) {
    http::Request request;
    request.path = std::move(path);
    (request.query.push_back(query), ...);
    const auto response = page_response(request);
    return std::string(response->headers.find("Location").value_or("none"));
  };
  const std::pair<std::string, std::string> chosen("selectionPath", "lab/mnist");
  EXPECT_EQ(location("/lab/my net/runs/a"), "./../../../#/at/lab/my%20net/runs/a");
  EXPECT_EQ(location("/lab", chosen), "./#/at/lab?selectionPath=lab%2Fmnist");
  EXPECT_EQ(location("//other.host/x"), "./../../#/at//other.host/x");
  EXPECT_EQ(location("/"), "none");
  EXPECT_EQ(location("/assets/none.js"), "none");
}

}  // namespace
}  // namespace kedge::server
