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

  void barrier() override {}

  std::unique_ptr<ProcessGroup> make_twin(const std::string& /*name*/) override {
    return std::make_unique<SingleProcessGroup>();
  }

  std::unique_ptr<ProcessGroup> make_subgroup(std::int64_t /*color*/) override {
    return std::make_unique<SingleProcessGroup>();
  }

  std::unique_ptr<Mailbox> open_mailbox() override { return std::make_unique<OwnMailbox>(); }

 private:
  // What a tensor of one rank becomes is what it is.
  static std::unique_ptr<Work> keep() { return std::make_unique<DoneWork>(); }

  static std::unique_ptr<Work> copy(const at::Tensor& output, const at::Tensor& input) {
    output.view(-1).copy_(input.view(-1));
    return keep();
  }

  std::unique_ptr<Work> do_all_reduce(const at::Tensor& /*tensor*/, ranks::Collective /*what*/,
                                      Reduce /*reduce*/) override {
    return keep();
  }

  std::unique_ptr<Work> do_broadcast(const at::Tensor& /*tensor*/, int /*root*/) override {
    return keep();
  }

  std::unique_ptr<Work> do_reduce_scatter(const at::Tensor& output, const at::Tensor& input,
                                          Reduce /*reduce*/) override {
    return copy(output, input);
  }

  std::unique_ptr<Work> do_all_gather(const at::Tensor& output, const at::Tensor& input) override {
    return copy(output, input);
  }

  std::unique_ptr<Work> do_all_to_all(const at::Tensor& output, const at::Tensor& input,
                                      const Pieces& /*rows*/) override {
    return copy(output, input);
  }

  std::unique_ptr<Work> do_transfer(const at::Tensor& /*tensor*/, int /*peer*/,
                                    ranks::Collective /*what*/) override {
    TORCH_CHECK(false, "one rank has no other to exchange with");
  }
};

}  // namespace

std::unique_ptr<ProcessGroup> make_single_process_group() {
  return std::make_unique<SingleProcessGroup>();
}

}  // namespace kedge::dist
