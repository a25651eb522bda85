#include "data/storage.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/random.h"
#include "core/stopwatch.h"

namespace kedge::data {
namespace {

namespace fs = std::filesystem;

// Larger sets are sampled: the order is random.
constexpr std::size_t kMostFiles = 100'000;

std::vector<Path> places_of(const config::DataConfig& config) {
  if (config.mix.empty()) {
    return {place_of(config)};
  }
  std::vector<Path> places;
  for (const auto& [name, weight] : config.mix) {
    std::error_code ignored;
    places.push_back(fs::exists(name, ignored) ? Path(name) : Path(config.root) / name);
  }
  return places;
}

std::vector<Path> files_below(const std::vector<Path>& places) {
  std::vector<Path> files;
  for (const Path& place : places) {
    std::error_code error;
    if (fs::is_regular_file(place, error)) {
      files.push_back(place);
      continue;
    }
    const auto options = fs::directory_options::follow_directory_symlink;
    for (fs::recursive_directory_iterator at(place, options, error), end;
         !error && at != end && files.size() < kMostFiles; at.increment(error)) {
      std::error_code ignored;
      if (at->is_regular_file(ignored)) {
        files.push_back(at->path());
      }
    }
  }
  std::ranges::sort(files);
  Random random(0);
  for (std::size_t i = files.size(); i > 1; --i) {
    std::swap(files[i - 1], files[random.below(i)]);
  }
  return files;
}

struct Pages {
  std::uint64_t all = 0;
  std::uint64_t cached = 0;
};

// Asks the kernel to forget the file, and counts what it still holds: tmpfs has nowhere else.
Pages drop_from_memory(int fd, std::size_t size_bytes) {
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  Pages pages;
  void* memory = ::mmap(nullptr, size_bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    return pages;
  }
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> is_here((size_bytes + page - 1) / page);
  if (::mincore(memory, size_bytes, is_here.data()) == 0) {
    pages.all = is_here.size();
    for (const unsigned char here : is_here) {
      pages.cached += here & 1U;
    }
  }
  ::munmap(memory, size_bytes);
  return pages;
}

class Reading {
 public:
  Reading(const std::vector<Path>& files, double limit_s) : files_(files), limit_s_(limit_s) {}

  void read_until_done() {
    std::vector<char> block(std::size_t{1} << 20U);
    for (std::size_t i = next_++; i < files_.size() && watch_.seconds() < limit_s_; i = next_++) {
      read_file(files_[i], block);
    }
  }

  StorageSpeed result(Path place) const {
    const std::uint64_t pages = std::max<std::uint64_t>(pages_, 1);
    return {.place = std::move(place),
            .files = read_,
            .bytes = bytes_,
            .seconds = std::max(watch_.seconds(), 1e-9),
            .cached_fraction = static_cast<double>(cached_) / static_cast<double>(pages)};
  }

 private:
  // Files that cannot be read are the loader's to complain about.
  void read_file(const Path& path, std::vector<char>& block) {
    const OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat facts{};
    if (fd.get() < 0 || ::fstat(fd.get(), &facts) != 0 || facts.st_size == 0) {
      return;
    }
    const Pages pages = drop_from_memory(fd.get(), static_cast<std::size_t>(facts.st_size));
    pages_ += pages.all;
    cached_ += pages.cached;
    for (ssize_t got = 0;
         watch_.seconds() < limit_s_ && (got = ::read(fd.get(), block.data(), block.size())) > 0;) {
      bytes_ += static_cast<std::uint64_t>(got);
    }
    ++read_;
  }

  const std::vector<Path>& files_;
  double limit_s_;
  Stopwatch watch_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::int64_t> read_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<std::uint64_t> pages_ = 0;
  std::atomic<std::uint64_t> cached_ = 0;
};

}  // namespace

Path place_of(const config::DataConfig& config) {
  return config.path.empty() ? Path(config.root) / config.name : Path(config.path);
}

std::optional<StorageSpeed> measure_storage(const config::DataConfig& config, std::int64_t threads,
                                            double limit_s) {
  const std::vector<Path> places = places_of(config);
  const std::vector<Path> files = files_below(places);
  if (files.empty()) {
    return std::nullopt;
  }
  Reading reading(files, limit_s);
  {
    std::vector<std::jthread> helpers;
    for (std::int64_t i = 1; i < threads; ++i) {
      helpers.emplace_back([&] { reading.read_until_done(); });
    }
    reading.read_until_done();
  }
  return reading.result(places.front());
}

}  // namespace kedge::data
