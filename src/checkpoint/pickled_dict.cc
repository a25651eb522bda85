#include "checkpoint/pickled_dict.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "checkpoint/internal/dtype.h"
#include "checkpoint/internal/pickle.h"

namespace kedge::checkpoint {
namespace {

using Kind = PickleValue::Kind;

bool is_byte_array(const PickleValue& value) {
  return value.kind == Kind::Array && value.items.size() == 2 && value.items[0]->text == "u1";
}

bool is_integer_list(const PickleValue& value) {
  return value.kind == Kind::List && std::ranges::all_of(value.items, [](const auto* item) {
           return item->kind == Kind::Integer;
         });
}

Result<ByteArray> byte_array(const PickleValue& value) {
  const std::string& bytes = value.items[1]->text;
  if (find_byte_count(value.tensor.shape, 1) != static_cast<std::int64_t>(bytes.size())) {
    return fail(ErrorKind::Corrupt, fmt::format("an array of shape {} has {} bytes",
                                                render_shape(value.tensor.shape), bytes.size()));
  }
  return ByteArray{.shape = value.tensor.shape, .bytes = {bytes.begin(), bytes.end()}};
}

Result<PickledDict> read(std::span<const std::uint8_t> bytes) {
  const Pickle pickle = KEDGE_TRY(Pickle::read(bytes));
  if (pickle.root().kind != Kind::Dict) {
    return fail(ErrorKind::Corrupt, "it does not hold a dict");
  }
  PickledDict dict;
  std::size_t copied = 0;  // many keys may share one value: copies must not outgrow the file
  for (const auto& [key, value] : pickle.root().pairs) {
    if (!is_text(*key) || dict.arrays.contains(key->text) || dict.lists.contains(key->text)) {
      continue;
    }
    if (is_byte_array(*value)) {
      copied += value->items[1]->text.size();
      dict.arrays.emplace(key->text, KEDGE_TRY(byte_array(*value)));
    } else if (is_integer_list(*value)) {
      std::vector<std::int64_t>& list = dict.lists[key->text];
      for (const PickleValue* item : value->items) {
        list.push_back(item->integer);
      }
      copied += list.size();
    }
    if (copied > bytes.size()) {
      return fail(ErrorKind::Corrupt, "its values take more room than the file");
    }
  }
  return dict;
}

}  // namespace

Result<PickledDict> read_pickled_dict(const Path& path) {
  const MappedFile file = KEDGE_TRY(MappedFile::open(path));
  auto dict = read(file.bytes());
  if (!dict) {
    return fail(dict.error().kind, fmt::format("{}: {}", path.string(), dict.error().message));
  }
  return dict;
}

}  // namespace kedge::checkpoint
