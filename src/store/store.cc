#include "store/store.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/internal/database.h"
#include "store/internal/schema.h"
#include "store/internal/store_parts.h"

namespace kedge::store {

Result<std::unique_ptr<Store>> Store::open(const std::string& address, std::int64_t now_us,
                                           const StoreOptions& options) {
  auto impl = std::make_unique<Impl>(address, now_us);
  auto owner = KEDGE_TRY(open_database(impl->address, Access::Owner));
  KEDGE_TRY(migrate(*owner));
  KEDGE_TRY(impl->load(*owner));
  impl->start(std::move(owner), {.bytes = options.max_waiting_bytes});
  return std::unique_ptr<Store>(new Store(std::move(impl)));
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Store::~Store() = default;

void Store::set_listener(std::function<void(std::span<const Change>)> listener) {
  const std::lock_guard lock(impl_->listener_mutex);
  impl_->listener = std::move(listener);
}

std::shared_ptr<void> Store::begin_turn() {
  return std::make_shared<Writer::Turn>(*impl_->writer);
}

}  // namespace kedge::store
