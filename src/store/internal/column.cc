#include "store/internal/column.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include <zstd.h>

#include "core/result.h"

namespace kedge::store {
namespace {

// The numbers are the format's.
enum class Filter : std::uint8_t { Plain = 0, Delta = 1, DeltaOfDelta = 2, Xor = 3 };
enum class Plane : std::uint8_t { Zero = 0, Constant = 1, Stored = 2, Zstd = 3 };

constexpr std::size_t kPlanes = 8;
constexpr int kZstdLevel = 1;
// A plane that zstd would shorten by less than this part is stored: it is read faster.
constexpr double kWorthwhile = 0.97;

struct Head {
  Filter filter = Filter::Plain;
  std::uint64_t base = 0;   // the word before the first; not of Plain
  std::uint64_t slope = 0;  // Delta: taken off every difference; DeltaOfDelta: the one before
};

std::uint64_t median_difference(std::span<const std::uint64_t> words) {
  std::vector<std::int64_t> differences;
  differences.reserve(words.size());
  for (std::size_t i = 1; i < words.size(); ++i) {
    differences.push_back(static_cast<std::int64_t>(words[i] - words[i - 1]));
  }
  if (differences.empty()) {
    return 0;
  }
  const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
  std::nth_element(differences.begin(), middle, differences.end());
  return static_cast<std::uint64_t>(*middle);
}

Head head_of(Filter filter, std::span<const std::uint64_t> words) {
  Head head{.filter = filter};
  if (words.empty() || filter == Filter::Plain) {
    return head;
  }
  head.base = words[0];
  if (filter == Filter::Delta) {
    head.slope = median_difference(words);
    head.base -= head.slope;
  } else if (filter == Filter::DeltaOfDelta) {
    head.slope = words.size() > 1 ? words[1] - words[0] : 0;
    head.base -= head.slope;
  }
  return head;
}

std::vector<std::uint64_t> residuals_of(const Head& head, std::span<const std::uint64_t> words) {
  std::vector<std::uint64_t> residuals(words.begin(), words.end());
  std::uint64_t before = head.base;
  std::uint64_t slope = head.slope;
  for (std::uint64_t& residual : residuals) {
    const std::uint64_t word = residual;
    switch (head.filter) {
      case Filter::Plain:
        break;
      case Filter::Xor:
        residual = word ^ before;
        break;
      case Filter::Delta:
        residual = zigzag(word - before - slope);
        break;
      case Filter::DeltaOfDelta:
        residual = zigzag(word - before - slope);
        slope = word - before;
        break;
    }
    before = word;
  }
  return residuals;
}

void restore(const Head& head, std::span<std::uint64_t> words) {
  std::uint64_t before = head.base;
  std::uint64_t slope = head.slope;
  switch (head.filter) {
    case Filter::Plain:
      break;
    case Filter::Xor:
      for (std::uint64_t& word : words) {
        word = before ^= word;
      }
      break;
    case Filter::Delta:
      for (std::uint64_t& word : words) {
        word = before += slope + unzigzag(word);
      }
      break;
    case Filter::DeltaOfDelta:
      for (std::uint64_t& word : words) {
        slope += unzigzag(word);
        word = before += slope;
      }
      break;
  }
}

struct FreeZstd {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }

  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

ZSTD_CCtx* compressor() {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeZstd> context = [] {
    std::unique_ptr<ZSTD_CCtx, FreeZstd> made(ZSTD_createCCtx());
    KEDGE_CHECK(made, "out of memory");
    ZSTD_CCtx_setParameter(made.get(), ZSTD_c_compressionLevel, kZstdLevel);
    ZSTD_CCtx_setParameter(made.get(), ZSTD_c_contentSizeFlag, 0);
    return made;
  }();
  return context.get();
}

ZSTD_DCtx* decompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeZstd> context(ZSTD_createDCtx());
  KEDGE_CHECK(context, "out of memory");
  return context.get();
}

// Whether zstd's entropy coder could shorten these bytes enough; trying costs ten times more.
bool looks_random(const std::string& bytes) {
  std::array<std::uint32_t, 256> counts{};
  for (const char byte : bytes) {
    ++counts[static_cast<std::uint8_t>(byte)];
  }
  double bits = 0;
  const auto total = static_cast<double>(bytes.size());
  for (const std::uint32_t count : counts) {
    if (count > 0) {
      bits -= count * std::log2(count / total);
    }
  }
  return bits >= kWorthwhile * 8 * total;
}

Plane append_plane(std::string& out, const std::string& plane) {
  if (std::all_of(plane.begin(), plane.end(), [&](char byte) { return byte == plane[0]; })) {
    if (plane.empty() || plane[0] == 0) {
      return Plane::Zero;
    }
    out.push_back(plane[0]);
    return Plane::Constant;
  }
  if (!looks_random(plane)) {
    std::string packed(ZSTD_compressBound(plane.size()), '\0');
    const std::size_t size =
        ZSTD_compress2(compressor(), packed.data(), packed.size(), plane.data(), plane.size());
    KEDGE_CHECK(ZSTD_isError(size) == 0, "zstd refused a plane");
    if (static_cast<double>(size + 2) < kWorthwhile * static_cast<double>(plane.size())) {
      append_varint(out, size);
      out.append(packed, 0, size);
      return Plane::Zstd;
    }
  }
  out += plane;
  return Plane::Stored;
}

std::string column_with(Filter filter, std::span<const std::uint64_t> words) {
  const Head head = head_of(filter, words);
  const std::vector<std::uint64_t> residuals = residuals_of(head, words);
  std::string out(1, static_cast<char>(filter));
  if (filter != Filter::Plain) {
    append_varint(out, zigzag(head.base));
    append_varint(out, zigzag(head.slope));
  }
  std::string planes;
  unsigned kinds = 0;
  std::string plane(words.size(), '\0');
  for (unsigned p = 0; p < kPlanes; ++p) {
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      plane[i] = static_cast<char>(residuals[i] >> (8 * p));
    }
    kinds |= static_cast<unsigned>(append_plane(planes, plane)) << (2 * p);
  }
  append_fixed(out, static_cast<std::uint16_t>(kinds));
  return out + planes;
}

bool read_head(ByteReader& reader, Head& head) {
  const auto filter = reader.fixed<std::uint8_t>();
  if (filter > static_cast<std::uint8_t>(Filter::Xor)) {
    return false;
  }
  head.filter = static_cast<Filter>(filter);
  if (head.filter != Filter::Plain) {
    head.base = unzigzag(reader.varint());
    head.slope = unzigzag(reader.varint());
  }
  return reader.is_good();
}

// A fixed length lets the compiler use vectors.
constexpr std::size_t kBlock = 64;

void or_plane(const char* __restrict plane, unsigned shift, std::span<std::uint64_t> words) {
  std::size_t i = 0;
  for (; i + kBlock <= words.size(); i += kBlock) {
    std::uint64_t* __restrict block = words.data() + i;
    for (std::size_t k = 0; k < kBlock; ++k) {
      block[k] |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(plane[i + k])) << shift;
    }
  }
  for (; i < words.size(); ++i) {
    words[i] |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(plane[i])) << shift;
  }
}

bool read_plane(ByteReader& reader, Plane kind, unsigned shift, std::span<std::uint64_t> words) {
  switch (kind) {
    case Plane::Zero:
      return true;
    case Plane::Constant: {
      const std::uint64_t word = static_cast<std::uint64_t>(reader.fixed<std::uint8_t>()) << shift;
      for (std::uint64_t& other : words) {
        other |= word;
      }
      return reader.is_good();
    }
    case Plane::Stored: {
      const std::string_view plane = reader.take(words.size());
      if (!reader.is_good()) {
        return false;
      }
      or_plane(plane.data(), shift, words);
      return true;
    }
    case Plane::Zstd: {
      const std::string_view packed = reader.take(reader.varint());
      thread_local std::vector<char> plane;
      if (plane.size() < words.size()) {
        plane.resize(words.size());
      }
      if (!reader.is_good() || ZSTD_decompressDCtx(decompressor(), plane.data(), words.size(),
                                                   packed.data(), packed.size()) != words.size()) {
        return false;
      }
      or_plane(plane.data(), shift, words);
      return true;
    }
  }
  return false;
}

}  // namespace

void append_column(std::string& out, ColumnKind kind, std::span<const std::uint64_t> words) {
  static constexpr std::array kOfIntegers = {Filter::Delta, Filter::DeltaOfDelta};
  static constexpr std::array kOfDoubles = {Filter::Plain, Filter::Xor, Filter::Delta};
  const std::span<const Filter> filters =
      kind == ColumnKind::Integers ? std::span<const Filter>(kOfIntegers) : kOfDoubles;
  std::string best;
  for (const Filter filter : filters) {
    std::string column = column_with(filter, words);
    if (best.empty() || column.size() < best.size()) {
      best = std::move(column);
    }
  }
  out += best;
}

bool read_column(ByteReader& reader, std::span<std::uint64_t> words) {
  Head head;
  if (!read_head(reader, head)) {
    return false;
  }
  const auto kinds = reader.fixed<std::uint16_t>();
  std::ranges::fill(words, 0);
  for (unsigned p = 0; p < kPlanes; ++p) {
    if (!read_plane(reader, static_cast<Plane>((kinds >> (2 * p)) & 3U), 8 * p, words)) {
      return false;
    }
  }
  restore(head, words);
  return reader.is_good();
}

bool skip_column(ByteReader& reader, std::size_t count) {
  Head head;
  if (!read_head(reader, head)) {
    return false;
  }
  const auto kinds = reader.fixed<std::uint16_t>();
  for (unsigned p = 0; p < kPlanes; ++p) {
    switch (static_cast<Plane>((kinds >> (2 * p)) & 3U)) {
      case Plane::Zero:
        break;
      case Plane::Constant:
        reader.take(1);
        break;
      case Plane::Stored:
        reader.take(count);
        break;
      case Plane::Zstd:
        reader.take(reader.varint());
        break;
    }
  }
  return reader.is_good();
}

}  // namespace kedge::store
