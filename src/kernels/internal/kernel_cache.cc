#include "kernels/internal/kernel_cache.h"

#include <filesystem>

#include <fmt/format.h>

#include "core/file.h"
#include "core/hash.h"
#include "core/user_folders.h"

namespace kedge::kernels {
Result<Program> Program::make(device::Plugin& plugin, const std::string& source,
                              const std::string& name) {
  Digest digest;
  digest.add(fmt::format("{}\n{}", plugin.target(), source));
  const std::string key = digest.text();
  const Path path =
      cache_folder() / "kernels" / fmt::format("{}-{}.cubin", name, key.substr(key.find(':') + 1));
  // Files appear whole, by a rename; an empty one would be somebody else's.
  if (auto cached = read_file(path); cached && !cached->empty()) {
    return Program(plugin, std::move(*cached));
  }
  std::string code = KEDGE_TRY(plugin.compile(source, name));
  // A cache that cannot be written costs time, nothing else.
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  if (!ignored) {
    static_cast<void>(write_file_atomic(path, code));
  }
  return Program(plugin, std::move(code));
}

Result<std::unique_ptr<device::Kernel>> Program::kernel(const std::string& function) const {
  return plugin_->load(code_, function);
}

}  // namespace kedge::kernels
