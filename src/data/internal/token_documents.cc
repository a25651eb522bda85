#include "data/internal/token_documents.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace kedge::data {
namespace {

template <typename T>
std::span<const std::uint8_t> bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

void TokenDocuments::add(std::span<const TokenId> ids, std::span<const std::uint8_t> marks,
                         DocumentPlace place) {
  pieces_.push_back(
      {.first = ids_.size(), .length = static_cast<std::int32_t>(ids.size()), .place = place});
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  marks_.insert(marks_.end(), marks.begin(), marks.end());
}

void TokenDocuments::add_in_pieces(std::span<const TokenId> ids, std::size_t most,
                                   DocumentPlace place) {
  for (std::size_t first = 0; first + 1 < ids.size(); first += most - 1) {
    pieces_.push_back({.first = ids_.size() + first,
                       .length = static_cast<std::int32_t>(std::min(most, ids.size() - first)),
                       .place = place});
  }
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  marks_.resize(ids_.size(), 1);
}

void TokenDocuments::append(const TokenDocuments& others) {
  for (Piece piece : others.pieces_) {
    piece.first += ids_.size();
    pieces_.push_back(piece);
  }
  ids_.insert(ids_.end(), others.ids_.begin(), others.ids_.end());
  marks_.insert(marks_.end(), others.marks_.begin(), others.marks_.end());
}

std::vector<std::int32_t> TokenDocuments::lengths() const {
  std::vector<std::int32_t> lengths;
  lengths.reserve(pieces_.size());
  std::ranges::transform(pieces_, std::back_inserter(lengths), &Piece::length);
  return lengths;
}

std::span<const TokenId> TokenDocuments::ids(std::size_t document) const {
  const Piece& piece = pieces_[document];
  return std::span(ids_).subspan(piece.first, static_cast<std::size_t>(piece.length));
}

std::span<const std::uint8_t> TokenDocuments::marks(std::size_t document) const {
  const Piece& piece = pieces_[document];
  return std::span(marks_).subspan(piece.first, static_cast<std::size_t>(piece.length));
}

std::int64_t TokenDocuments::token_count() const {
  return std::accumulate(pieces_.begin(), pieces_.end(), std::int64_t{0},
                         [](std::int64_t sum, const Piece& piece) { return sum + piece.length; });
}

std::int64_t TokenDocuments::counted_count() const {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    count += std::ranges::count(marks(i).subspan(1), 1);
  }
  return count;
}

void TokenDocuments::add_to(Digest& digest) const {
  digest.add(bytes_of(ids_));
  digest.add(bytes_of(marks_));
  digest.add(bytes_of(lengths()));
}

std::string describe_place(const std::vector<std::string>& files, DocumentPlace place) {
  const std::string& file = files[place.file];
  return place.line == 0 ? file : fmt::format("{}:{}", file, place.line);
}

void lay_document(std::span<const TokenId> ids, std::span<const std::uint8_t> marks,
                  std::span<std::int32_t> window, std::span<std::uint8_t> mask) {
  std::ranges::copy(ids, window.begin());
  std::ranges::copy(marks.subspan(1), mask.begin());
}

DocumentWindows::DocumentWindows(TokenDocuments documents, WindowOptions options, DatasetInfo info,
                                 std::string_view making)
    : documents_(std::move(documents)), options_(std::move(options)), info_(std::move(info)) {
  const std::int64_t context = options_.context;
  info_.fields = token_fields(context);
  info_.fields.push_back({.name = std::string(kLossMask), .shape = {context}});
  if (options_.pack) {
    info_.fields.push_back(
        {.name = std::string(kDocuments), .type = FieldType::I32, .shape = {context}});
    groups_ = pack_documents(documents_.lengths(), static_cast<std::int32_t>(context) + 1);
  } else {
    groups_ = one_each(documents_.size());
  }
  Digest digest;
  digest.add(fmt::format("documents {} {} {} ", context, options_.pack, making));
  documents_.add_to(digest);
  digest_ = digest.text();
}

std::string DocumentWindows::name(std::int64_t index) const {
  const auto group = groups_[static_cast<std::size_t>(index)];
  const std::string first = describe_place(options_.files, documents_.place(group.front()));
  return group.size() == 1 ? first : fmt::format("{} and {} more", first, group.size() - 1);
}

Result<void> DocumentWindows::read(std::int64_t index, Sample& sample) const {
  const auto group = groups_[static_cast<std::size_t>(index)];
  const auto context = static_cast<std::size_t>(options_.context);
  const auto window = sample.row<std::int32_t>(0, options_.context + 1);
  const auto mask = sample.row<std::uint8_t>(1, options_.context);
  std::ranges::fill(window, 0);
  std::ranges::fill(mask, std::uint8_t{0});
  std::vector<std::size_t> ends;
  std::size_t at = 0;
  for (const std::uint32_t document : group) {
    const auto ids = documents_.ids(document);
    lay_document(ids, documents_.marks(document), window.subspan(at), mask.subspan(at));
    at += ids.size();
    ends.push_back(at);
  }
  if (options_.pack) {
    const auto documents = sample.row<std::int32_t>(2, options_.context);
    at = 0;
    for (std::size_t number = 0; number <= ends.size(); ++number) {
      const std::size_t end = number < ends.size() ? std::min(ends[number], context) : context;
      std::fill(documents.begin() + static_cast<std::ptrdiff_t>(at),
                documents.begin() + static_cast<std::ptrdiff_t>(end),
                static_cast<std::int32_t>(number));
      at = end;
    }
  }
  return {};
}

}  // namespace kedge::data
