#include "gpu/kernel_cache.h"

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "core/file.h"
#include "core/hash.h"

namespace kedge::gpu {
namespace {

Path cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return Path(cache) / "kedge" / "kernels";
  }
  const char* home = std::getenv("HOME");
  return Path(home == nullptr ? "/tmp" : home) / ".cache" / "kedge" / "kernels";
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_kernel(Plugin& plugin, const std::string& source,
                                            const std::string& function) {
  Digest digest;
  digest.add(fmt::format("{}\n{}\n{}", plugin.target(), function, source));
  const std::string name = digest.text();
  const Path path = cache_folder() / (name.substr(name.find(':') + 1) + ".cubin");
  if (const auto cached = read_file(path)) {
    // A damaged file fails to load and is made again.
    if (auto kernel = plugin.load(*cached, function)) {
      return kernel;
    }
  }
  const std::string code = KEDGE_TRY(plugin.compile(source, function));
  // A cache that cannot be written costs time, nothing else.
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  if (!ignored) {
    static_cast<void>(write_file_atomic(path, code));
  }
  return plugin.load(code, function);
}

}  // namespace kedge::gpu
