// The few requests of S3's API that blobs need, signed and, where nothing speaks against it, sent
// again: all of them do the same when they are done twice.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/http_client.h"
#include "core/result.h"
#include "store/blobs.h"

namespace kedge::store {

struct S3Place {
  std::string bucket;
  std::string prefix;    // empty, or ends in '/'
  std::string endpoint;  // empty: Amazon's, for the region
  std::string region = "us-east-1";
};

// s3://BUCKET/PREFIX?endpoint=URL&region=NAME
Result<S3Place> parse_s3_address(const std::string& address);

// From AWS_ACCESS_KEY_ID and its kin; Usage when they are not set.
Result<AwsSigning> read_s3_keys(const S3Place& place);

// Percent-decoded text; nothing when a % is not followed by two hex digits.
std::optional<std::string> decode_url_part(std::string_view text);

// The text of every <name> element in what S3 answers, in order, with its entities replaced.
std::vector<std::string> xml_texts(std::string_view xml, std::string_view name);

using S3Query = std::vector<std::pair<std::string, std::string>>;  // sorted by name

struct S3Request {
  std::string method = "GET";
  std::string key = {};  // below the prefix; empty: the bucket itself
  S3Query query = {};
  HttpHeaders headers = {};
  std::string_view body = {};
  std::optional<HttpBodyFile> file = {};
  BlobSink on_body = {};
};

class S3Client {
 public:
  S3Client(S3Place place, AwsSigning keys, int attempts)
      : place_(std::move(place)), keys_(std::move(keys)), attempts_(attempts) {}

  // Any status below 500 is an answer. Threads share nothing but a list of idle connections.
  Result<HttpResponse> send(const S3Request& request);

  // What a status that nobody expected says: Unavailable, or Io with S3's code and message.
  Error error_of(const S3Request& request, const HttpResponse& response) const;

  const S3Place& place() const { return place_; }

 private:
  std::string url_of(const S3Request& request) const;
  Result<HttpClient> take_client();
  void give_back(HttpClient client);

  S3Place place_;
  AwsSigning keys_;
  int attempts_;
  std::mutex mutex_;
  std::vector<HttpClient> idle_;
};

}  // namespace kedge::store
