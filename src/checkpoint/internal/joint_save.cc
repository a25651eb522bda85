#include "checkpoint/internal/joint_save.h"

#include <exception>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "checkpoint/internal/manifest.h"

namespace kedge::checkpoint {
namespace {

// Notes travel over a network that may be gone; what it throws is the save's failure.
template <typename Work>
auto fence(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& error) {
    return fail(ErrorKind::Unavailable, error.what());
  }
}

}  // namespace

Result<std::vector<ShardEntry>> JointSave::write_shards_into(const Path& fresh, const Save& save) {
  auto shards = KEDGE_TRY(write_shards(fresh, save.parts, writers_.index, writers_.count, frozen_));
  frozen_ = {.folder = fresh.parent_path() / save.name, .shards = shards};  // once it is committed
  return shards;
}

// A note is a text, or after an exclamation mark an error.
void JointSave::put(std::string_view what, const Result<std::string>& note) const {
  if (writers_.count == 1) {
    return;
  }
  writers_.put(fmt::format("save/{}/{}", number_, what), note ? *note : "!" + note.error().message);
}

Result<std::string> JointSave::take(std::string_view what) const {
  std::string note = writers_.take(fmt::format("save/{}/{}", number_, what));
  if (note.starts_with('!')) {
    return fail(ErrorKind::Io, note.substr(1));
  }
  return note;
}

Result<std::uint64_t> JointSave::write(const Save& save, const Path& fresh) {
  return fence([&]() -> Result<std::uint64_t> {
    put("open", fresh.string());
    auto own = write_shards_into(fresh, save);
    std::optional<Error> error = own ? std::nullopt : std::optional(own.error());
    std::vector<ShardEntry> entries = own ? std::move(*own) : std::vector<ShardEntry>();
    for (std::int64_t writer = 1; writer < writers_.count; ++writer) {
      const auto note = take(std::to_string(writer));
      const auto shards = note ? parse_shards(*note) : std::unexpected(note.error());
      if (!shards) {
        error = shards.error();
        error->message = fmt::format("writer {}: {}", writer, error->message);
        continue;
      }
      entries.insert(entries.end(), shards->begin(), shards->end());
    }
    if (error) {
      return std::unexpected(*error);
    }
    return write_manifest(fresh, std::move(entries), save.state);
  });
}

void JointSave::refuse(const Error& error) {
  static_cast<void>(fence([&]() -> Result<void> {
    put("open", std::unexpected(error));
    return {};
  }));
  end(std::unexpected(error), false);
}

void JointSave::end(const Result<void>& result, bool is_durable) {
  static_cast<void>(fence([&]() -> Result<void> {
    put("done", result ? Result<std::string>(is_durable ? "durable" : "fast")
                       : std::unexpected(result.error()));
    return {};
  }));
}

Result<bool> JointSave::write_own_shards(const Save& save, const std::function<void()>& release) {
  const auto write_own = [&]() -> Result<std::string> {
    const Path fresh = KEDGE_TRY(take("open"));
    return render_shards(KEDGE_TRY(write_shards_into(fresh, save)));
  };
  const auto told = fence([&]() -> Result<void> {
    put(std::to_string(writers_.index), write_own());
    return {};
  });
  release();
  if (!told) {
    return std::unexpected(told.error());
  }
  return fence([&]() -> Result<bool> { return KEDGE_TRY(take("done")) == "durable"; });
}

}  // namespace kedge::checkpoint
