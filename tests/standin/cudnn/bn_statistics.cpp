#include <cmath>

#include "operation.hpp"

// Sums over a convolution's output, and what batch normalisation makes of them.

namespace rueda::standin {
namespace {

/// One value a channel.
using Channels = std::vector<double>;

Channels channels_of(const Dense& dense) {
  return Channels(dense.values.begin(), dense.values.end());
}

/// A tensor (1, C, 1, 1).
Dense dense_of(const Channels& values) {
  Dense dense(Dims{1, static_cast<std::int64_t>(values.size()), 1, 1});
  for (std::size_t c = 0; c < values.size(); ++c) dense.values[c] = static_cast<float>(values[c]);
  return dense;
}

struct Finalize {
  TensorSpec sum, square_sum, scale, bias, count, epsilon, factor, old_mean, old_variance;
  TensorSpec new_mean, new_variance, mean, inv_variance, eq_scale, eq_bias;
};

Finalize finalize_of(const Descriptor& d) {
  return {tensor_at(d, CUDNN_ATTR_OPERATION_BN_FINALIZE_Y_SUM_DESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_BN_FINALIZE_Y_SQ_SUM_DESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_BN_FINALIZE_SCALE_DESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_BN_FINALIZE_BIAS_DESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_BN_FINALIZE_ACCUM_COUNT_DESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_BN_FINALIZE_EPSILON_DESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_BN_FINALIZE_EXP_AVERATE_FACTOR_DESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_BN_FINALIZE_PREV_RUNNING_MEAN_DESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_BN_FINALIZE_PREV_RUNNING_VAR_DESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_BN_FINALIZE_UPDATED_RUNNING_MEAN_DESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_BN_FINALIZE_UPDATED_RUNNING_VAR_DESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_BN_FINALIZE_SAVED_MEAN_DESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_BN_FINALIZE_SAVED_INV_STD_DESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_BN_FINALIZE_EQ_SCALE_DESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_BN_FINALIZE_EQ_BIAS_DESC)};
}

/// Puts body(channel) for every channel.
template <typename Body>
Channels put_channels(Bindings& bindings, const TensorSpec& to, const Body& body) {
  Channels values(static_cast<std::size_t>(to.dims[1]));
  for (std::size_t c = 0; c < values.size(); ++c) values[c] = body(c);
  bindings.put(to, dense_of(values));
  return values;
}

void put_running(Bindings& bindings, const Finalize& f, const Channels& mean,
                 const Channels& variance, double count) {
  const double factor = bindings.scalar(f.factor);
  const Channels old_mean = channels_of(bindings.get(f.old_mean));
  const Channels old_variance = channels_of(bindings.get(f.old_variance));
  put_channels(bindings, f.new_mean,
               [&](std::size_t c) { return (1 - factor) * old_mean[c] + factor * mean[c]; });
  put_channels(bindings, f.new_variance, [&](std::size_t c) {
    return (1 - factor) * old_variance[c] + factor * variance[c] * count / (count - 1);
  });
}

void finalize(Bindings& bindings, const Finalize& f) {
  const double count = bindings.scalar(f.count);
  const double epsilon = bindings.scalar(f.epsilon);
  const Channels sum = channels_of(bindings.get(f.sum));
  const Channels squares = channels_of(bindings.get(f.square_sum));
  const Channels scale = channels_of(bindings.get(f.scale));
  const Channels bias = channels_of(bindings.get(f.bias));
  const Channels mean =
      put_channels(bindings, f.mean, [&](std::size_t c) { return sum[c] / count; });
  Channels variance = squares;
  for (std::size_t c = 0; c < mean.size(); ++c) {
    variance[c] = squares[c] / count - mean[c] * mean[c];
  }
  const Channels inv = put_channels(bindings, f.inv_variance, [&](std::size_t c) {
    return 1 / std::sqrt(variance[c] + epsilon);
  });
  put_channels(bindings, f.eq_scale, [&](std::size_t c) { return scale[c] * inv[c]; });
  put_channels(bindings, f.eq_bias,
               [&](std::size_t c) { return bias[c] - mean[c] * scale[c] * inv[c]; });
  put_running(bindings, f, mean, variance, count);
}

}  // namespace

Operation make_gen_stats(const Descriptor& d) {
  const auto x = tensor_at(d, CUDNN_ATTR_OPERATION_GENSTATS_XDESC);
  const auto sum = tensor_at(d, CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC);
  const auto square_sum = tensor_at(d, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC);
  return {{x}, {sum, square_sum}, [=](Bindings& bindings) {
            const Dense& values = bindings.get(x);
            Channels sums(static_cast<std::size_t>(x.dims[1]));
            Channels squares(sums.size());
            for (std::size_t i = 0; i < values.values.size(); ++i) {
              const auto value = static_cast<double>(values.values[i]);
              sums[i % sums.size()] += value;
              squares[i % sums.size()] += value * value;
            }
            bindings.put(sum, dense_of(sums));
            bindings.put(square_sum, dense_of(squares));
          }};
}

Operation make_bn_finalize(const Descriptor& d) {
  require(d.one<cudnnBnFinalizeStatsMode_t>(CUDNN_ATTR_OPERATION_BN_FINALIZE_STATS_MODE) ==
              CUDNN_BN_FINALIZE_STATISTICS_TRAINING,
          "the stand-in finalises statistics in training only", CUDNN_STATUS_NOT_SUPPORTED);
  const Finalize f = finalize_of(d);
  return {{f.sum, f.square_sum, f.scale, f.bias, f.count, f.epsilon, f.factor, f.old_mean,
           f.old_variance},
          {f.new_mean, f.new_variance, f.mean, f.inv_variance, f.eq_scale, f.eq_bias},
          [f](Bindings& bindings) { finalize(bindings, f); }};
}

}  // namespace rueda::standin
