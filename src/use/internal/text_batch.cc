#include "use/internal/text_batch.h"

#include <algorithm>
#include <utility>

#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "device/plugin.h"

namespace kedge::use {
namespace {

// Of one text at once: what a step of the others waits for at most. A longer one would not be read
// faster.
constexpr std::int64_t kStretch_cpu = 256;
constexpr std::int64_t kStretch_gpu = 2048;

std::int64_t stretch_of(const device::Context& context) {
  return context.device.is_cuda() ? kStretch_gpu : kStretch_cpu;
}

at::TensorOptions ids_on(const device::Context& context) {
  return at::TensorOptions(at::kLong).device(context.device);
}

std::int64_t common_length(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

}  // namespace

Result<void> check_length(const TextRequest& request, std::int64_t room) {
  const auto length = std::ssize(request.tokens);
  if (length == 0) {
    return fail(ErrorKind::Usage, "the prompt is empty",
                "give it at least one character, or the token that begins a text");
  }
  if (length + request.max_tokens > room) {
    return fail(ErrorKind::Usage,
                fmt::format("the prompt has {} tokens, and {} more are asked for: there is room "
                            "for {} together",
                            length, request.max_tokens, room),
                "shorten it, or ask for fewer");
  }
  return {};
}

Result<std::int64_t> text_room(const LanguageModel& model, std::int64_t asked, std::int64_t usual) {
  const std::int64_t longest = model.decoder->longest();
  if (asked < 0 || asked == 1 || asked > longest) {
    return fail(ErrorKind::Usage,
                fmt::format("--context {}: the model takes 2 to {} tokens", asked, longest));
  }
  return asked > 0 ? asked : std::min(usual, longest);
}

TextBatch::TextBatch(const LanguageModel& model, std::size_t rows, std::int64_t room,
                     bool goes_ahead)
    : model_(model),
      goes_ahead_(goes_ahead),
      autocast_(*model.context),
      graphs_(model.context->device.is_cuda() ? device::plugin() : nullptr, "tokens"),
      cache_(model.decoder->make_cache(static_cast<std::int64_t>(rows), room)),
      sampling_(static_cast<std::int64_t>(rows), model.vocab, model.context->device),
      counts_(rows, 0),
      rows_(rows) {
  const auto count = static_cast<std::int64_t>(rows);
  next_B1_ = torch::zeros({count, 1}, ids_on(*model.context));
  counts_B_ = torch::zeros({count}, ids_on(*model.context));
  told_BK_ = torch::zeros({count, 1 + 2 * kMaxTold}, next_B1_.options().dtype(at::kFloat));
}

bool TextBatch::is_idle() const {
  return std::ranges::all_of(rows_, [](const Row& row) { return row.state == State::Free; });
}

std::optional<std::size_t> TextBatch::find_free() const {
  const auto found = std::ranges::find(rows_, State::Free, &Row::state);
  return found == rows_.end() ? std::nullopt : std::optional<std::size_t>(found - rows_.begin());
}

void TextBatch::begin(std::size_t row, TextRequest request) {
  Row& it = rows_[row];
  KEDGE_CHECK(it.state == State::Free && check_length(request, room()),
              "a text goes into a free row that has room for it");
  std::int64_t cached = 0;
  if (request.keeps) {  // the last token is read again, for its scores
    cached = std::min({it.cached, common_length(it.request.tokens, request.tokens),
                       std::ssize(request.tokens) - 1});
  }
  const auto place = static_cast<std::int64_t>(row);
  cache_.lengths_B[place].fill_(cached);
  sampling_.set(place, request.sampling, request.tokens);
  it = {.state = State::Reading, .request = std::move(request), .cached = cached, .turn = turns_++};
}

void TextBatch::end(std::size_t row) {
  rows_[row].state = State::Free;
  rows_[row].has_next = false;
}

void TextBatch::advance(const TextEvents& events) {
  read_some();
  std::vector<std::size_t> fresh;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (std::exchange(rows_[i].has_next, false)) {
      ++rows_[i].made;
      fresh.push_back(i);
    }
  }
  Made made = take_made();
  if (goes_ahead_) {
    step();
  }
  if (made.is_there) {
    made.is_there->synchronize();
  }
  report(fresh, made, events);
  if (!goes_ahead_) {
    step();
  }
}

// All that the host ever reads of a step. From a GPU it comes by itself, so that the next step can
// be asked for meanwhile.
TextBatch::Made TextBatch::take_made() {
  const bool is_late = next_B1_.is_cuda();
  const auto copy = [&](const at::Tensor& it) {
    const at::Tensor host =
        torch::empty(it.sizes(), it.options().device(at::kCPU).pinned_memory(is_late));
    return host.copy_(it, /*non_blocking=*/is_late);
  };
  Made made{.ids_B1 = copy(next_B1_), .told_BK = work().tells ? copy(told_BK_) : at::Tensor()};
  if (is_late) {
    const c10::impl::VirtualGuardImpl device(next_B1_.device().type());
    made.is_there.emplace(next_B1_.device().type());
    made.is_there->record(device.getStream(next_B1_.device()));
  }
  return made;
}

MadeToken TextBatch::token_of(const Made& made, std::size_t row) const {
  MadeToken token{.id = made.ids_B1.const_data_ptr<std::int64_t>()[row]};
  if (const std::int64_t count = rows_[row].request.tells; count > 0) {
    const auto place = static_cast<std::int64_t>(row);
    const float* told = made.told_BK.const_data_ptr<float>() + place * made.told_BK.size(1);
    token.log_prob = told[0];
    for (std::int64_t i = 0; i < std::min(count, model_.vocab); ++i) {
      token.likeliest.push_back(
          {.id = static_cast<std::int64_t>(told[1 + i]), .log_prob = told[1 + kMaxTold + i]});
    }
  }
  return token;
}

void TextBatch::report(const std::vector<std::size_t>& rows, const Made& made,
                       const TextEvents& events) {
  for (const std::size_t i : rows) {
    Row& row = rows_[i];
    const MadeToken token = token_of(made, i);
    row.request.tokens.push_back(token.id);
    const bool is_end = row.request.ends && std::ranges::count(model_.end_ids, token.id) > 0;
    std::optional<Ending> ending;
    if (is_end) {
      ending = Ending::EndToken;
    } else if (events.on_token(i, token) == Wish::Enough) {
      ending = Ending::Enough;
    } else if (row.made == row.request.max_tokens) {
      ending = Ending::MaxTokens;
    }
    if (ending) {
      end(i);
      events.on_end(i, *ending);
    }
  }
}

void TextBatch::read_some() {
  const std::int64_t stretch = stretch_of(*model_.context);
  for (std::int64_t read = 0; read < stretch;) {
    std::optional<std::size_t> next;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].state == State::Reading && (!next || rows_[i].turn < rows_[*next].turn)) {
        next = i;
      }
    }
    if (!next) {
      return;
    }
    const std::int64_t before = rows_[*next].cached;
    read_stretch(*next);
    read += rows_[*next].cached - before;
  }
}

// The cache as if there were only this text and room for `length` tokens.
nn::KvCache TextBatch::view_of(std::size_t row, std::int64_t length) const {
  const auto place = static_cast<std::int64_t>(row);
  nn::KvCache view{.layers = {}, .lengths_B = cache_.lengths_B.narrow(0, place, 1), .room = length};
  for (const nn::KvCache::Layer& layer : cache_.layers) {
    view.layers.push_back({layer.keys_BHLD.narrow(0, place, 1).narrow(2, 0, length),
                           layer.values_BHLD.narrow(0, place, 1).narrow(2, 0, length)});
  }
  return view;
}

// Where a text is cut depends on nothing but itself: other cuts would round otherwise.
void TextBatch::read_stretch(std::size_t row) {
  Row& it = rows_[row];
  const std::int64_t count =
      std::min(stretch_of(*model_.context), std::ssize(it.request.tokens) - it.cached);
  const auto ids = at::ArrayRef(it.request.tokens)
                       .slice(static_cast<std::size_t>(it.cached), static_cast<std::size_t>(count));
  const at::Tensor tokens_BT = torch::tensor(ids).unsqueeze(0).to(next_B1_.device());
  it.cached += count;
  nn::KvCache view = view_of(row, it.cached);
  const at::Tensor scores_BV =
      model_.decoder->decode(tokens_BT, torch::full({1}, count, next_B1_.options()), view);
  if (it.cached < std::ssize(it.request.tokens)) {
    return;
  }
  SamplingWork work{.tells = it.request.tells > 0};
  work.add(it.request.sampling);
  choose(scores_BV, view.lengths_B, work, static_cast<std::int64_t>(row), /*is_alone=*/true);
  it.state = State::Running;
  it.has_next = true;
}

// The next tokens of the rows from `first` on that have scores, where they take part; how likely
// ids are is told as floats, which hold those of 16 million tokens.
void TextBatch::choose(const at::Tensor& scores_BV, const at::Tensor& lengths_B,
                       const SamplingWork& work, std::int64_t first, bool is_alone) {
  const std::int64_t count = scores_BV.size(0);
  const auto put = [&](const at::Tensor& all, const at::Tensor& fresh) {
    const at::Tensor mine = all.narrow(0, first, count);
    mine.copy_(is_alone ? fresh : torch::where(counts_B_.gt(0).unsqueeze(1), fresh, mine));
  };
  const at::Tensor chosen_B1 =
      sampling_.choose(scores_BV, lengths_B, work, first, count).unsqueeze(1);
  if (work.tells) {
    const at::Tensor log_probs = scores_BV.to(at::kFloat).log_softmax(-1);
    const auto [best, ids] = log_probs.topk(std::min(kMaxTold, model_.vocab), -1);
    const auto padded = [](const at::Tensor& x) {
      return torch::constant_pad_nd(x.to(at::kFloat), {0, kMaxTold - x.size(1)});
    };
    put(told_BK_, torch::cat({log_probs.gather(1, chosen_B1), padded(ids), padded(best)}, 1));
  }
  put(next_B1_, chosen_B1);
}

SamplingWork TextBatch::work() const {
  SamplingWork work;
  for (const Row& row : rows_) {
    if (row.state == State::Running) {
      work.add(row.request.sampling);
      work.tells = work.tells || row.request.tells > 0;
    }
  }
  return work;
}

// Computes the tokens after next_B1_, which take its place.
void TextBatch::step() {
  std::vector<std::int64_t> counts(rows_.size(), 0);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Row& row = rows_[i];
    row.has_next = row.state == State::Running && row.made < row.request.max_tokens;
    counts[i] = row.has_next ? 1 : 0;
    row.cached += counts[i];
  }
  if (std::ranges::count(counts, 1) == 0) {
    return;
  }
  if (counts != counts_) {
    counts_B_.copy_(torch::tensor(counts));
    counts_ = counts;
  }
  const SamplingWork work = this->work();
  const int what = (work.penalises ? 8 : 0) + (work.draws ? 4 : 0) + (work.filters ? 2 : 0) +
                   (work.tells ? 1 : 0);
  graphs_.run(
      {.count = what},
      [&] {
        if (work.penalises) {
          sampling_.see(next_B1_, counts_B_);
        }
        const at::Tensor scores_BV = model_.decoder->decode(next_B1_, counts_B_, cache_);
        choose(scores_BV, cache_.lengths_B, work, 0, /*is_alone=*/false);
        return next_B1_;
      },
      [] {});
}

}  // namespace kedge::use
