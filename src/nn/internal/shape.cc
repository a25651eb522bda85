#include "nn/internal/shape.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kedge::nn {

std::int64_t side_after(std::int64_t side, std::span<const Window> windows) {
  for (const Window& window : windows) {
    const std::int64_t room = side + 2 * window.padding - window.kernel;
    if (side < 1 || room < 0) {
      return 0;
    }
    side = room / window.stride + 1;
  }
  return side;
}

Result<ImageSize> size_after(std::string_view model, const Signature& signature,
                             std::span<const Window> windows) {
  const ImageSize size{.height = side_after(signature.height, windows),
                       .width = side_after(signature.width, windows)};
  if (size.height < 1 || size.width < 1) {
    std::int64_t least = 1;
    while (side_after(least, windows) < 1) {
      ++least;
    }
    return fail(ErrorKind::Usage,
                fmt::format("{} needs images of at least {}x{} pixels; these are {}x{}", model,
                            least, least, signature.height, signature.width),
                "resize the images (data transforms), or choose a model for small images");
  }
  return size;
}

Result<void> require_images(std::string_view model, const Signature& signature) {
  if (signature.takes_tokens()) {
    return fail(ErrorKind::Usage, fmt::format("{} takes images; the data are tokens", model),
                "choose a gpt model (`kedge list models`), or image data");
  }
  if (signature.height < 1 || signature.width < 1 || signature.channels < 1) {
    return fail(ErrorKind::Usage,
                fmt::format("{} cannot be made for images of {} channels and {}x{} pixels", model,
                            signature.channels, signature.height, signature.width));
  }
  if (signature.classes < 1) {
    return fail(ErrorKind::Usage,
                fmt::format("{} needs at least one class; there are {}", model, signature.classes),
                "set model.classes");
  }
  return {};
}

namespace {

Result<void> require_vocabulary(std::string_view model, const Signature& signature) {
  if (!signature.takes_tokens()) {
    return fail(ErrorKind::Usage, fmt::format("{} takes tokens; the data are images", model),
                "choose an image model (`kedge list models`), or text data");
  }
  if (signature.vocab < 2) {
    return fail(
        ErrorKind::Usage,
        fmt::format("{} needs a vocabulary of at least 2; it is {}", model, signature.vocab),
        "set model.vocab");
  }
  return {};
}

}  // namespace

Result<void> require_tokens(std::string_view model, const Signature& signature) {
  KEDGE_TRY(require_vocabulary(model, signature));
  if (signature.classes > 0) {
    return fail(ErrorKind::Usage,
                fmt::format("{} predicts tokens; the data are texts with labels", model),
                "choose an encoder: model.name=bert-mini, or the folder of one as model.file");
  }
  return {};
}

Result<void> require_text_classes(std::string_view model, const Signature& signature) {
  KEDGE_TRY(require_vocabulary(model, signature));
  if (signature.classes == 0) {
    return fail(ErrorKind::Usage,
                fmt::format("{} tells classes of texts apart; the data have no labels", model),
                "choose texts with labels (data.name=labelled_text), or a language model");
  }
  return {};
}

Result<void> require_heads_divide(std::string_view model, std::int64_t width, std::int64_t heads) {
  if (width < 1 || heads < 1 || width % heads != 0) {
    return fail(
        ErrorKind::Usage,
        fmt::format("{}: model.width {} is not a multiple of model.heads {}", model, width, heads),
        fmt::format("for example model.width={}",
                    heads * std::max<std::int64_t>(1, width / std::max<std::int64_t>(1, heads))));
  }
  return {};
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace kedge::nn
