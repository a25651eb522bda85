// A store's tables, for the classes of this room that keep something in them: the one way to the
// database. Nobody outside the room has it, so that nothing is written behind the store's back.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/result.h"
#include "store/internal/database.h"
#include "store/store.h"

namespace kedge::store {

class Tables {
  template <typename Work, typename Run>
  static auto answer_of(const Work& work, const Run& run) {
    using Answer = std::invoke_result_t<const Work&, Database&>;
    if constexpr (std::is_same_v<Answer, Result<void>>) {
      return run(work);
    } else {
      std::optional<typename Answer::value_type> value;
      const Result<void> done = run([&](Database& database) -> Result<void> {
        value.emplace(KEDGE_TRY(work(database)));
        return {};
      });
      return done ? Answer(std::move(*value)) : Answer(std::unexpected(done.error()));
    }
  }

 public:
  explicit Tables(const Store& store) : impl_(*store.impl_) {}

  Store::Impl& parts() const { return impl_; }

  // Returns what `work` does, a Result. It may be called again when a connection was lost or a
  // commit is tried again: what it has collected must be its own. A change whose `work` returns an
  // error is rolled back.
  template <typename Work>
  auto read(const Work& work) const {
    return answer_of(work, [this](const auto& step) { return read_with(step); });
  }

  template <typename Work>
  auto change(const Work& work) const {
    return answer_of(work, [this](const auto& step) { return change_with(step); });
  }

  // The same without waiting.
  void change(std::function<Result<void>(Database&)> work, Done<void> done) const;

  // One statement that changes something.
  Result<void> run(std::string_view sql, std::initializer_list<SqlValue> values) const;

  // As Database's.
  template <typename Make>
  auto list(std::string_view sql, std::initializer_list<SqlValue> values, const Make& make) const {
    return read([&](Database& database) { return database.list(sql, values, make); });
  }

  template <typename Make>
  auto find(std::string_view sql, std::initializer_list<SqlValue> values, const Make& make) const {
    return read([&](Database& database) { return database.find(sql, values, make); });
  }

 private:
  using Step = std::function<Result<void>(Database&)>;

  Result<void> read_with(const Step& step) const;
  Result<void> change_with(const Step& step) const;

  Store::Impl& impl_;
};

}  // namespace kedge::store
