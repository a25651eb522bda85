#include <map>
#include <utility>

#include "core/result.h"
#include "dist/process_group.h"

namespace kedge::dist {
namespace {

class DoneWork : public Work {
 public:
  void wait() override {}
};

class OwnMailbox : public Mailbox {
 public:
  void put(const std::string& key, const std::string& text) override { notes_[key] = text; }

  std::string take(const std::string& key) override {
    const auto found = notes_.find(key);
    KEDGE_CHECK(found != notes_.end(), "who is alone finds only what it has put there");
    return found->second;
  }

 private:
  std::map<std::string, std::string> notes_;
};

class SingleProcessGroup : public ProcessGroup {
 public:
  std::int64_t rank() const override { return 0; }

  std::int64_t size() const override { return 1; }

  void all_reduce_sum(at::Tensor& /*tensor*/) override {}

  std::unique_ptr<Work> start_all_reduce(const at::Tensor& /*tensor*/,
                                         ranks::Collective /*what*/) override {
    return std::make_unique<DoneWork>();
  }

  void broadcast(at::Tensor& /*tensor*/, std::int64_t /*root*/) override {}

  at::Tensor all_gather(const at::Tensor& tensor) override { return tensor.unsqueeze(0); }

  void barrier() override {}

  std::unique_ptr<ProcessGroup> make_twin(const std::string& /*name*/) override {
    return std::make_unique<SingleProcessGroup>();
  }

  std::unique_ptr<Mailbox> open_mailbox() override { return std::make_unique<OwnMailbox>(); }
};

}  // namespace

std::unique_ptr<ProcessGroup> make_single_process_group() {
  return std::make_unique<SingleProcessGroup>();
}

}  // namespace kedge::dist
