#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "store/internal/blob_backends.h"
#include "store/internal/s3_client.h"
#include "store/internal/spool_file.h"

namespace kedge::store {
namespace {

constexpr std::uint64_t kMostParts = 9000;  // S3's limit is 10000

std::string key_of(const std::string& digest) {
  return digest.substr(0, 2) + "/" + digest.substr(2);
}

Result<std::string> hash_part(const Path& path, std::uint64_t offset, std::uint64_t size) {
  const MappedFile file = KEDGE_TRY(MappedFile::open(path));
  Sha256 hash;
  hash.add(file.bytes().subspan(offset, size));
  return hash.finish_hex();
}

// Sends one blob that lies in a file. S3 checks each request against the hash in its header.
class Upload {
 public:
  Upload(S3Client& client, const StoredBlob& blob, const Path& file, std::uint64_t part_bytes)
      : client_(client),
        blob_(blob),
        file_(file),
        part_bytes_(std::max(part_bytes, blob.size / kMostParts + 1)) {}

  Result<void> send() {
    if (blob_.size > part_bytes_) {
      return send_in_parts();
    }
    return expect_ok({.method = "PUT",
                      .key = key_of(blob_.digest),
                      .headers = {{"x-amz-content-sha256", blob_.digest}},
                      .file = HttpBodyFile{.path = file_, .size = blob_.size}});
  }

 private:
  Result<void> expect_ok(const S3Request& request) {
    const HttpResponse response = KEDGE_TRY(client_.send(request));
    if (!response.is_ok()) {
      return std::unexpected(client_.error_of(request, response));
    }
    return {};
  }

  Result<void> send_in_parts() {
    KEDGE_TRY(start());
    Result<void> sent = send_parts();
    if (sent) {
      sent = complete();
    }
    if (!sent) {
      // Parts of an upload that is not ended cost money. The first error is what counts.
      (void)client_.send(
          {.method = "DELETE", .key = key_of(blob_.digest), .query = {{"uploadId", upload_id_}}});
    }
    return sent;
  }

  Result<void> start() {
    const S3Request request{
        .method = "POST", .key = key_of(blob_.digest), .query = {{"uploads", ""}}};
    const HttpResponse response = KEDGE_TRY(client_.send(request));
    const auto ids = xml_texts(response.body, "UploadId");
    if (!response.is_ok() || ids.empty()) {
      return std::unexpected(client_.error_of(request, response));
    }
    upload_id_ = ids[0];
    return {};
  }

  Result<void> send_parts() {
    int number = 1;
    for (std::uint64_t offset = 0; offset < blob_.size; offset += part_bytes_, ++number) {
      const std::uint64_t size = std::min(part_bytes_, blob_.size - offset);
      const S3Request request{
          .method = "PUT",
          .key = key_of(blob_.digest),
          .query = {{"partNumber", std::to_string(number)}, {"uploadId", upload_id_}},
          .headers = {{"x-amz-content-sha256", KEDGE_TRY(hash_part(file_, offset, size))}},
          .file = HttpBodyFile{.path = file_, .offset = offset, .size = size}};
      const HttpResponse response = KEDGE_TRY(client_.send(request));
      const auto etag = response.header("etag");
      if (!response.is_ok() || !etag) {
        return std::unexpected(client_.error_of(request, response));
      }
      part_list_ +=
          fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", number, *etag);
    }
    return {};
  }

  Result<void> complete() {
    const std::string list =
        fmt::format("<CompleteMultipartUpload>{}</CompleteMultipartUpload>", part_list_);
    const S3Request request{.method = "POST",
                            .key = key_of(blob_.digest),
                            .query = {{"uploadId", upload_id_}},
                            .headers = {{"content-type", "application/xml"}},
                            .body = list};
    const HttpResponse response = KEDGE_TRY(client_.send(request));
    // S3 may say 200, work for a while, and then put an error into the body.
    if (!response.is_ok() || !xml_texts(response.body, "Code").empty()) {
      return std::unexpected(client_.error_of(request, response));
    }
    return {};
  }

  S3Client& client_;
  const StoredBlob& blob_;
  const Path& file_;
  std::uint64_t part_bytes_;
  std::string upload_id_;
  std::string part_list_;
};

Result<std::optional<std::uint64_t>> find_size_in(S3Client& client, const std::string& digest) {
  if (!is_blob_digest(digest)) {
    return std::nullopt;
  }
  const S3Request request{.method = "HEAD", .key = key_of(digest)};
  const HttpResponse response = KEDGE_TRY(client.send(request));
  if (response.status == 404) {
    return std::nullopt;
  }
  const std::string_view length = response.header("content-length").value_or("");
  std::uint64_t size = 0;
  const auto parsed = std::from_chars(length.data(), length.data() + length.size(), size);
  if (!response.is_ok() || length.empty() || parsed.ec != std::errc()) {
    return std::unexpected(client.error_of(request, response));
  }
  return size;
}

class S3BlobWriter : public BlobWriter {
 public:
  S3BlobWriter(S3Client& client, SpoolFile file, std::uint64_t part_bytes)
      : client_(client), file_(std::move(file)), part_bytes_(part_bytes) {}

  Result<void> add(std::string_view bytes) override { return file_.add(bytes); }

  Result<StoredBlob> commit(std::string_view expected) override {
    StoredBlob blob = KEDGE_TRY(file_.finish(expected));
    if (KEDGE_TRY(find_size_in(client_, blob.digest)) == blob.size) {
      return blob;
    }
    KEDGE_TRY(Upload(client_, blob, file_.path(), part_bytes_).send());
    return blob;
  }

 private:
  S3Client& client_;
  SpoolFile file_;
  std::uint64_t part_bytes_;
};

class S3Blobs : public BlobStore {
 public:
  S3Blobs(S3Place place, AwsSigning keys, BlobOptions options)
      : client_(std::move(place), std::move(keys), options.attempts),
        options_(std::move(options)) {}

  Result<std::unique_ptr<BlobWriter>> begin() override {
    return std::make_unique<S3BlobWriter>(
        client_, KEDGE_TRY(SpoolFile::create(options_.spool, options_.reserve_bytes)),
        options_.part_bytes);
  }

  Result<std::optional<std::uint64_t>> find_size(const std::string& digest) override {
    return find_size_in(client_, digest);
  }

  Result<void> read(const std::string& digest, const BlobRange& range,
                    const BlobSink& sink) override {
    const auto size = KEDGE_TRY(find_size(digest));
    if (!size) {
      return std::unexpected(no_such_blob(digest));
    }
    if (range.offset > *size) {
      return std::unexpected(beyond_end(digest, range.offset, *size));
    }
    const std::uint64_t count = std::min(range.size.value_or(*size), *size - range.offset);
    if (count == 0) {
      return {};
    }
    S3Request request{.key = key_of(digest), .on_body = sink};
    if (count < *size) {
      request.headers = {
          {"range", fmt::format("bytes={}-{}", range.offset, range.offset + count - 1)}};
    }
    const HttpResponse response = KEDGE_TRY(client_.send(request));
    if (response.status != (count < *size ? 206 : 200)) {
      return std::unexpected(client_.error_of(request, response));
    }
    return {};
  }

  Result<bool> remove(const std::string& digest) override {
    // S3 does not say whether there was anything to delete.
    if (!KEDGE_TRY(find_size(digest))) {
      return false;
    }
    const S3Request request{.method = "DELETE", .key = key_of(digest)};
    const HttpResponse response = KEDGE_TRY(client_.send(request));
    if (!response.is_ok() && response.status != 404) {
      return std::unexpected(client_.error_of(request, response));
    }
    return true;
  }

  Result<void> list(const std::function<void(const StoredBlob&)>& visit) override {
    std::string token;
    do {
      S3Request request{.query = {{"list-type", "2"}, {"prefix", client_.place().prefix}}};
      if (!token.empty()) {
        request.query.insert(request.query.begin(), {"continuation-token", token});
      }
      const HttpResponse response = KEDGE_TRY(client_.send(request));
      if (!response.is_ok()) {
        return std::unexpected(client_.error_of(request, response));
      }
      const auto keys = xml_texts(response.body, "Key");
      const auto sizes = xml_texts(response.body, "Size");
      if (keys.size() != sizes.size()) {
        return fail(ErrorKind::Corrupt, "S3's list has not as many sizes as keys");
      }
      for (std::size_t i = 0; i < keys.size(); ++i) {
        visit_entry(keys[i], sizes[i], visit);
      }
      const auto next = xml_texts(response.body, "NextContinuationToken");
      token = next.empty() ? "" : next[0];
    } while (!token.empty());
    return {};
  }

  std::optional<Path> find_path(const std::string&) const override { return std::nullopt; }

 private:
  void visit_entry(const std::string& key, const std::string& size,
                   const std::function<void(const StoredBlob&)>& visit) const {
    const std::string& prefix = client_.place().prefix;
    StoredBlob blob{.digest = key.starts_with(prefix) ? key.substr(prefix.size()) : ""};
    std::erase(blob.digest, '/');
    std::from_chars(size.data(), size.data() + size.size(), blob.size);
    if (is_blob_digest(blob.digest)) {
      visit(blob);
    }
  }

  S3Client client_;
  BlobOptions options_;
};

}  // namespace

Result<std::unique_ptr<BlobStore>> open_s3_blobs(const std::string& address,
                                                 const BlobOptions& options) {
  S3Place place = KEDGE_TRY(parse_s3_address(address));
  AwsSigning keys = KEDGE_TRY(read_s3_keys(place));
  BlobOptions complete = options;
  if (complete.spool.empty()) {
    complete.spool = std::filesystem::temp_directory_path();
  }
  KEDGE_TRY(make_dirs(complete.spool));
  return std::make_unique<S3Blobs>(std::move(place), std::move(keys), std::move(complete));
}

}  // namespace kedge::store
