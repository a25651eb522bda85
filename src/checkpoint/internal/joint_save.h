// One checkpoint that several writers make together, or one alone. The first opens a folder and
// says where, each writes its shards and says which, the first writes the manifest, commits, and
// says how it ended.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/internal/folder.h"
#include "checkpoint/saver.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {

class JointSave {
 public:
  // `number` is the same for all writers of a save and for no other save of theirs. `frozen`: this
  // writer's shards of the save before, and then of this one.
  JointSave(const Writers& writers, std::int64_t number, Linkable& frozen)
      : writers_(writers), number_(number), frozen_(frozen) {}

  // The first writer: the shards of all in `fresh`, which exists, and the manifest; their bytes.
  Result<std::uint64_t> write(const Save& save, const Path& fresh);

  // The first writer: the others need not wait for a folder, or hear how the save ended.
  void refuse(const Error& error);
  void end(const Result<void>& result, bool is_durable);

  // Any other: its shards. `release` is called once, whatever happens, when the memory of `save` is
  // not needed any more: the next save may begin to use it at once. Whether the save is durable.
  Result<bool> write_own_shards(const Save& save, const std::function<void()>& release);

 private:
  Result<std::vector<ShardEntry>> write_shards_into(const Path& fresh, const Save& save);
  void put(std::string_view what, const Result<std::string>& note) const;
  Result<std::string> take(std::string_view what) const;

  const Writers& writers_;
  std::int64_t number_;
  Linkable& frozen_;
};

}  // namespace kedge::checkpoint
