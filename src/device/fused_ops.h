// Steps of a network that a device may do in one kernel instead of several. Layers ask the FusedOps
// of their context; without an answer they do the plain operations, which are the meaning of each
// step.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace kedge::device {

enum class Activation : std::uint8_t { None, Relu, Gelu, GeluTanh };

// y = pool(activation(batch_norm(x + input_bias) + shortcut)), by the statistics of this batch,
// which move the running ones, or by the running ones. Parts that are undefined or off are left
// out.
struct NormStep {
  at::Tensor x = {};           // [N, C, H, W]
  at::Tensor input_bias = {};  // of the convolution that made x; cancelled by the mean
  at::Tensor weight = {};
  at::Tensor bias = {};
  at::Tensor running_mean = {};
  at::Tensor running_var = {};
  at::Tensor batches = {};  // int64, counts calls
  double momentum = 0.1;
  double eps = 1e-5;
  at::Tensor shortcut = {};
  Activation activation = Activation::None;
  bool pool = false;  // the maximum of 2 x 2 fields
  bool is_training = true;
};

// sum = x + delta (x where that is undefined) and normed = layer_norm(sum), for the products that
// come next.
struct AddNormStep {
  at::Tensor x = {};
  at::Tensor delta = {};
  at::Tensor weight = {};
  at::Tensor bias = {};
  double eps = 1e-5;
};

struct AddNormed {
  at::Tensor sum;
  at::Tensor normed;
};

// activation(x weight^T + bias).
struct LinearStep {
  at::Tensor x = {};
  at::Tensor weight = {};
  at::Tensor bias = {};
  Activation activation = Activation::None;
};

// What low-rank adapters add to the columns of one layer: scale * (x a^T) b^T. Undefined: none.
struct Adapter {
  at::Tensor a = {};  // [rank, in]
  at::Tensor b = {};  // [out, rank]
  double scale = 1;
};

// Turns the leading columns of a product, heads side by side, by rotary positions (nn/rope.h).
struct Rotation {
  std::int64_t columns = 0;  // 0: none
  at::Tensor cosines = {};   // float [positions, half the width of a head]
  at::Tensor sines = {};
  at::Tensor positions = {};  // int64, of x's rows; where there are fewer, the same again
};

// A matrix in 4 bits, rows after rows, as bitsandbytes keeps it (nn/internal/nf4.h): numbers of
// entries in a table, times what 64 values have in common.
struct Nf4Matrix {
  at::Tensor codes = {};   // uint8, two a byte, the first one in the upper half
  at::Tensor scales = {};  // of 64 values: float; or uint8, numbers of entries in nested_table
  // Of the latter: entry * nested_scales[of 256 scales] + offset, in float32.
  at::Tensor nested_scales = {};
  at::Tensor nested_table = {};
  at::Tensor offset = {};
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// A matrix in whole numbers of 8 bits, with a scale for each row.
struct Int8Matrix {
  at::Tensor codes = {};   // int8 [rows, columns]
  at::Tensor scales = {};  // float [rows]
};

// Several layers on one input: x weight^T + bias + adapter of each, rotated.
struct JoinedLinearStep {
  at::Tensor x = {};
  std::vector<at::Tensor> weights = {};
  // As many, or empty. Where they are, weights have no values.
  std::vector<Nf4Matrix> packed = {};
  std::vector<Int8Matrix> bytes = {};
  std::vector<at::Tensor> biases = {};  // as many, undefined where a layer has none
  std::vector<Adapter> adapters = {};   // as many, or empty
  Rotation rotation = {};
};

// One new token of each text attends to what is in a cache and to itself.
struct CachedAttentionStep {
  at::Tensor q;  // [texts, heads, 1, width]
  at::Tensor k;  // [texts, heads of keys, 1, width]
  at::Tensor v;
  at::Tensor keys;  // [texts, heads of keys, room, width]
  at::Tensor values;
  at::Tensor places;        // int64 [texts]: where the new token stands
  std::int64_t window = 0;  // tokens that it looks back, itself included; 0: all
};

// The mean cross-entropy of rows of scores; rows with a negative target count for nothing.
struct CrossEntropyStep {
  at::Tensor scores;   // [rows, classes]
  at::Tensor targets;  // int64 [rows]
  double label_smoothing = 0;
  double z_loss = 0;  // times the square of log(sum(exp(scores)))
};

// Scores that have been judged, to be counted.
struct ScoredStep {
  at::Tensor scores;  // [N, classes]
  at::Tensor labels;  // int64 [N]
  at::Tensor loss;    // the batch's mean
};

// An optimizer's moment in 8 bits (nn/block_codes.h), blocks of 256 values.
struct CodedMoment {
  at::Tensor codes = {};
  at::Tensor absmax = {};
  at::Tensor table = {};
};

// AdamW's update of a parameter, in place.
struct Adamw8bitStep {
  at::Tensor parameter = {};
  at::Tensor gradient = {};
  CodedMoment first = {};
  CodedMoment second = {};
  at::Tensor step = {};  // float, zero-dimensional: which update this is, from 1
  at::Tensor rate = {};  // float, zero-dimensional
  double weight_decay = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
};

// Asked from the thread that trains. Where it cannot do a step it answers with undefined tensors,
// an empty list or false, and has changed nothing.
class FusedOps {
 public:
  virtual ~FusedOps() = default;

  virtual at::Tensor norm(const NormStep& step) = 0;
  virtual at::Tensor max_pool(const at::Tensor& x) = 0;  // of fields of 2 x 2
  virtual AddNormed add_norm(const AddNormStep& step) = 0;
  // The same with x / sqrt(mean(x^2) + eps) * weight; there is no bias.
  virtual AddNormed add_rms_norm(const AddNormStep& step) = 0;
  virtual at::Tensor linear(const LinearStep& step) = 0;
  // Its columns in three equal parts.
  virtual std::vector<at::Tensor> linear_thirds(const LinearStep& step) = 0;
  virtual std::vector<at::Tensor> joined_linear(const JoinedLinearStep& step) = 0;
  // In bfloat16.
  virtual at::Tensor unpack(const Nf4Matrix& matrix) = 0;
  // silu(gate) * up.
  virtual at::Tensor gated(const at::Tensor& gate, const at::Tensor& up) = 0;
  // Puts k and v into the cache; [texts, heads, 1, width].
  virtual at::Tensor attend_cached(const CachedAttentionStep& step) = 0;
  virtual at::Tensor cross_entropy(const CrossEntropyStep& step) = 0;
  // The rows' losses, not differentiable. Where `wants_gradient`, their gradients times
  // `inverse_count` (float, zero-dimensional) take the place of the scores.
  virtual at::Tensor judge_rows(const CrossEntropyStep& step, const at::Tensor& inverse_count,
                                bool wants_gradient) = 0;

  virtual bool adamw8bit(const Adamw8bitStep& step) = 0;

  // sums [4] += loss * N, N, rows whose label has the highest score, rows where it is among the
  // five highest (of more than five).
  virtual bool count_hits(const ScoredStep& step, at::Tensor& sums) = 0;
};

}  // namespace kedge::device
