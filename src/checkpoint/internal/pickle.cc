#include "checkpoint/internal/pickle.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "checkpoint/internal/pickled_array.h"
#include "checkpoint/internal/pickled_tensor.h"
#include "core/result.h"

namespace kedge::checkpoint {
namespace {

using Kind = PickleValue::Kind;

// A state dict needs some thirty values per tensor; a byte of a hostile pickle can make one of
// two hundred bytes.
constexpr std::size_t kMaxValues = std::size_t{1} << 23U;

constexpr std::array<std::string_view, 5> kCallable = {
    "collections.OrderedDict", "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_parameter",
    "torch.Size", "torch.device"};

bool is_known(std::string_view name) {
  return is_array_name(name) || is_tensor_name(name) ||
         std::ranges::find(kCallable, name) != kCallable.end();
}

std::unexpected<Error> refuse(std::string_view name) {
  return fail(ErrorKind::Corrupt, fmt::format("refusing to call {}: not a plain state dict", name),
              "if you trust the file, load it in Python and save only the weights: "
              "torch.save(model.state_dict(), \"weights.pt\")");
}

}  // namespace

bool is_text(const PickleValue& value) {
  return value.kind == Kind::Text || value.kind == Kind::Bytes;
}

std::unexpected<Error> corrupt_pickle(std::string_view what) {
  return fail(ErrorKind::Corrupt, fmt::format("its pickle is damaged: {}", what),
              "copy or download the file again");
}

class PickleMachine {
 public:
  explicit PickleMachine(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  Result<Pickle> run() {
    while (!done_) {
      const auto code = static_cast<std::uint8_t>(KEDGE_TRY(take_number(1)));
      KEDGE_TRY(step(code));
      if (values_.size() > kMaxValues) {
        return corrupt_pickle("it describes too many values");
      }
    }
    Pickle pickle;
    pickle.root_ = KEDGE_TRY(pop());
    pickle.values_ = std::move(values_);  // a deque keeps its elements where they are
    return pickle;
  }

 private:
  PickleValue* make(Kind kind) { return &values_.emplace_back(PickleValue{.kind = kind}); }

  void push(PickleValue* value) { stack_.push_back(value); }

  void push_integer(Kind kind, std::int64_t integer) {
    push(make(kind));
    stack_.back()->integer = integer;
  }

  Result<PickleValue*> pop() {
    if (stack_.empty() || stack_.back()->kind == Kind::Mark) {
      return corrupt_pickle("its stack is empty");
    }
    PickleValue* value = stack_.back();
    stack_.pop_back();
    return value;
  }

  Result<PickleValue*> top(Kind kind) {
    if (stack_.empty() || stack_.back()->kind != kind) {
      return corrupt_pickle("a value of another kind was expected");
    }
    return stack_.back();
  }

  Result<std::vector<PickleValue*>> pop_to_mark() {
    for (std::size_t at = stack_.size(); at-- > 0;) {
      if (stack_[at]->kind == Kind::Mark) {
        std::vector<PickleValue*> items(stack_.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                                        stack_.end());
        stack_.resize(at);
        return items;
      }
    }
    return corrupt_pickle("a mark is missing");
  }

  Result<std::span<const std::uint8_t>> take(std::uint64_t count) {
    if (count > bytes_.size()) {
      return corrupt_pickle("it ends too early");
    }
    const auto taken = bytes_.first(static_cast<std::size_t>(count));
    bytes_ = bytes_.subspan(static_cast<std::size_t>(count));
    return taken;
  }

  Result<std::uint64_t> take_number(std::size_t size) {
    const auto raw = KEDGE_TRY(take(size));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      value |= static_cast<std::uint64_t>(raw[i]) << (8 * i);
    }
    return value;
  }

  Result<std::string> take_line() {
    const auto end = std::ranges::find(bytes_, static_cast<std::uint8_t>('\n'));
    if (end == bytes_.end()) {
      return corrupt_pickle("a name has no end");
    }
    const auto line = KEDGE_TRY(take(static_cast<std::uint64_t>(end - bytes_.begin()) + 1));
    return std::string(line.begin(), line.end() - 1);
  }

  Result<void> push_text(std::size_t length_bytes, Kind kind) {
    const auto text = KEDGE_TRY(take(KEDGE_TRY(take_number(length_bytes))));
    push(make(kind));
    stack_.back()->text.assign(text.begin(), text.end());
    return {};
  }

  // LONG1 and LONG4: two's complement of any length; what does not fit is no shape of ours.
  Result<void> push_long(std::size_t length_bytes) {
    const auto raw = KEDGE_TRY(take(KEDGE_TRY(take_number(length_bytes))));
    if (raw.size() > 8) {
      push(make(Kind::Plain));
      return {};
    }
    std::uint64_t value = !raw.empty() && raw.back() >= 0x80 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = raw.size(); i-- > 0;) {
      value = (value << 8U) | raw[i];
    }
    push_integer(Kind::Integer, static_cast<std::int64_t>(value));
    return {};
  }

  Result<void> push_global(const std::string& module, const std::string& name) {
    const std::string full = module + "." + name;
    if (!is_known(full)) {
      return refuse(full);
    }
    push(make(Kind::Global));
    stack_.back()->text = full;
    return {};
  }

  Result<void> push_tuple(std::size_t count) {
    PickleValue* tuple = make(Kind::Tuple);
    tuple->items.resize(count);
    for (std::size_t i = count; i-- > 0;) {
      tuple->items[i] = KEDGE_TRY(pop());
    }
    push(tuple);
    return {};
  }

  Result<void> remember(std::uint64_t key) {
    if (stack_.empty()) {
      return corrupt_pickle("its stack is empty");
    }
    memo_[key] = stack_.back();
    return {};
  }

  Result<void> recall(std::uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) {
      return corrupt_pickle("it refers to a value it never made");
    }
    push(found->second);
    return {};
  }

  Result<void> set_items(const std::vector<PickleValue*>& flat) {
    PickleValue* dict = KEDGE_TRY(top(Kind::Dict));
    if (flat.size() % 2 != 0) {
      return corrupt_pickle("a dict has a key without a value");
    }
    for (std::size_t i = 0; i < flat.size(); i += 2) {
      dict->pairs.emplace_back(flat[i], flat[i + 1]);
    }
    return {};
  }

  Result<void> append(const std::vector<PickleValue*>& items) {
    PickleValue* list = KEDGE_TRY(top(Kind::List));
    list->items.insert(list->items.end(), items.begin(), items.end());
    return {};
  }

  Result<void> push_tensor(Kind kind, StridedTensor described) {
    push(make(kind));
    stack_.back()->tensor = std::move(described);
    return {};
  }

  Result<void> call() {
    const PickleValue* arguments = KEDGE_TRY(pop());
    const PickleValue* function = KEDGE_TRY(pop());
    if (function->kind != Kind::Global || arguments->kind != Kind::Tuple) {
      return corrupt_pickle("it calls something that is not a function");
    }
    if (is_array_name(function->text)) {
      PickleValue* value = make(Kind::Plain);
      KEDGE_TRY(call_for_array(function->text, *arguments, *value));
      push(value);
      return {};
    }
    if (std::ranges::find(kCallable, function->text) == kCallable.end()) {
      return refuse(function->text);
    }
    if (function->text == "torch._utils._rebuild_tensor_v2") {
      return push_tensor(Kind::Tensor, KEDGE_TRY(read_tensor(arguments->items)));
    }
    if (function->text == "torch._utils._rebuild_parameter") {
      if (arguments->items.empty() || arguments->items[0]->kind != Kind::Tensor) {
        return corrupt_pickle("a parameter is not a tensor");
      }
      push(arguments->items[0]);
    } else if (function->text == "torch.Size") {
      const bool is_wrapped =
          arguments->items.size() == 1 && arguments->items[0]->kind == Kind::Tuple;
      push(is_wrapped ? arguments->items[0] : make(Kind::Tuple));
    } else if (function->text == "collections.OrderedDict") {
      push(make(Kind::Dict));
    } else {
      push(make(Kind::Plain));
    }
    return {};
  }

  Result<void> step(std::uint8_t code);
  Result<void> step_text(std::uint8_t code);
  Result<void> step_number(std::uint8_t code);
  Result<void> step_container(std::uint8_t code);
  Result<void> step_object(std::uint8_t code);

  std::span<const std::uint8_t> bytes_;
  std::deque<PickleValue> values_;
  std::vector<PickleValue*> stack_;
  std::unordered_map<std::uint64_t, PickleValue*> memo_;
  bool done_ = false;
};

// Opcodes by their names in Python's pickletools; the letters are the bytes.

Result<void> PickleMachine::step(std::uint8_t code) {
  switch (code) {
    case 0x80:  // PROTO
      KEDGE_TRY(take(1));
      return {};
    case 0x95:  // FRAME
      KEDGE_TRY(take(8));
      return {};
    case '.':  // STOP
      done_ = true;
      return {};
    case '(':  // MARK
      push(make(Kind::Mark));
      return {};
    case 'N':  // NONE
      push(make(Kind::Plain));
      return {};
    case 'q':  // BINPUT
      return remember(KEDGE_TRY(take_number(1)));
    case 'r':  // LONG_BINPUT
      return remember(KEDGE_TRY(take_number(4)));
    case 0x94:  // MEMOIZE
      return remember(memo_.size());
    case 'h':  // BINGET
      return recall(KEDGE_TRY(take_number(1)));
    case 'j':  // LONG_BINGET
      return recall(KEDGE_TRY(take_number(4)));
    default:
      return step_text(code);
  }
}

Result<void> PickleMachine::step_text(std::uint8_t code) {
  switch (code) {
    case 'X':  // BINUNICODE
      return push_text(4, Kind::Text);
    case 0x8c:  // SHORT_BINUNICODE
      return push_text(1, Kind::Text);
    case 0x8d:  // BINUNICODE8
      return push_text(8, Kind::Text);
    case 'U':  // SHORT_BINSTRING
    case 'C':  // SHORT_BINBYTES
      return push_text(1, Kind::Bytes);
    case 'T':  // BINSTRING
    case 'B':  // BINBYTES
      return push_text(4, Kind::Bytes);
    case 0x8e:  // BINBYTES8
      return push_text(8, Kind::Bytes);
    default:
      return step_number(code);
  }
}

Result<void> PickleMachine::step_number(std::uint8_t code) {
  switch (code) {
    case 'J':  // BININT
      push_integer(Kind::Integer, static_cast<std::int32_t>(KEDGE_TRY(take_number(4))));
      return {};
    case 'K':  // BININT1
      push_integer(Kind::Integer, static_cast<std::int64_t>(KEDGE_TRY(take_number(1))));
      return {};
    case 'M':  // BININT2
      push_integer(Kind::Integer, static_cast<std::int64_t>(KEDGE_TRY(take_number(2))));
      return {};
    case 0x8a:  // LONG1
      return push_long(1);
    case 0x8b:  // LONG4
      return push_long(4);
    case 'G':  // BINFLOAT
      KEDGE_TRY(take(8));
      push(make(Kind::Plain));
      return {};
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
      push_integer(Kind::Bool, code == 0x88 ? 1 : 0);
      return {};
    default:
      return step_container(code);
  }
}

Result<void> PickleMachine::step_container(std::uint8_t code) {
  switch (code) {
    case '}':  // EMPTY_DICT
      push(make(Kind::Dict));
      return {};
    case ']':   // EMPTY_LIST
    case 0x8f:  // EMPTY_SET
      push(make(Kind::List));
      return {};
    case ')':  // EMPTY_TUPLE
      return push_tuple(0);
    case 0x85:  // TUPLE1
    case 0x86:  // TUPLE2
    case 0x87:  // TUPLE3
      return push_tuple(code - 0x84U);
    case 't': {  // TUPLE
      auto items = KEDGE_TRY(pop_to_mark());
      push(make(Kind::Tuple));
      stack_.back()->items = std::move(items);
      return {};
    }
    case 'a':  // APPEND
      return append({KEDGE_TRY(pop())});
    case 'e':   // APPENDS
    case 0x90:  // ADDITEMS
      return append(KEDGE_TRY(pop_to_mark()));
    case 's': {  // SETITEM
      PickleValue* value = KEDGE_TRY(pop());
      PickleValue* key = KEDGE_TRY(pop());
      return set_items({key, value});
    }
    case 'u':  // SETITEMS
      return set_items(KEDGE_TRY(pop_to_mark()));
    default:
      return step_object(code);
  }
}

Result<void> PickleMachine::step_object(std::uint8_t code) {
  switch (code) {
    case 'c': {  // GLOBAL
      const std::string module = KEDGE_TRY(take_line());
      return push_global(module, KEDGE_TRY(take_line()));
    }
    case 0x93: {  // STACK_GLOBAL
      const PickleValue* name = KEDGE_TRY(pop());
      const PickleValue* module = KEDGE_TRY(pop());
      return push_global(module->text, name->text);
    }
    case 'Q':  // BINPERSID
      return push_tensor(Kind::Storage, KEDGE_TRY(read_storage(*KEDGE_TRY(pop()))));
    case 'R':  // REDUCE
      return call();
    case 'b': {  // BUILD: an array's content, or a state dict's _metadata, which weights do not
                 // need
      const PickleValue* state = KEDGE_TRY(pop());
      if (!stack_.empty() && is_array_part(*stack_.back())) {
        return build_array(*stack_.back(), *state);
      }
      KEDGE_TRY(top(Kind::Dict));
      return {};
    }
    default:
      return fail(ErrorKind::Corrupt,
                  fmt::format("refusing pickle opcode 0x{:02x}: not a plain state dict", code),
                  "load the file in Python and save only the weights: "
                  "torch.save(model.state_dict(), \"weights.pt\")");
  }
}

Result<Pickle> Pickle::read(std::span<const std::uint8_t> bytes) {
  return PickleMachine(bytes).run();
}

}  // namespace kedge::checkpoint
