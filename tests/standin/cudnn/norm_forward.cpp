#include <cmath>
#include <optional>

#include "channels.hpp"
#include "operation.hpp"

namespace rueda::standin {
namespace {

using Name = cudnnBackendAttributeName_t;
using MaybeTensor = std::optional<TensorSpec>;

struct Norm {
  TensorSpec x, y, scale, bias;
  MaybeTensor mean, inv_variance;  // results in training, operands in inference
  MaybeTensor epsilon, factor, old_mean, old_variance, new_mean, new_variance;
};

MaybeTensor maybe_tensor(const Descriptor& descriptor, Name name) {
  if (!descriptor.has(name)) return std::nullopt;
  return tensor_at(descriptor, name);
}

Norm norm_of(const Descriptor& d) {
  return {tensor_at(d, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC),
          maybe_tensor(d, CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC),
          maybe_tensor(d, CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC),
          maybe_tensor(d, CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC),
          maybe_tensor(d, CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC),
          maybe_tensor(d, CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC),
          maybe_tensor(d, CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC),
          maybe_tensor(d, CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC),
          maybe_tensor(d, CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC)};
}

struct Statistics {
  Channels mean;
  Channels variance;  // biased
};

Statistics statistics_of(const Dense& x) {
  const auto channels = static_cast<std::size_t>(x.dims[1]);
  Statistics result{Channels(channels), Channels(channels)};
  const double samples = samples_of(x);
  each_of_channels(x, [&](std::size_t c, std::size_t i) {
    result.mean[c] += static_cast<double>(x.values[i]) / samples;
  });
  each_of_channels(x, [&](std::size_t c, std::size_t i) {
    const double distance = static_cast<double>(x.values[i]) - result.mean[c];
    result.variance[c] += distance * distance / samples;
  });
  return result;
}

Dense normalise(const Dense& x, const Channels& mean, const Channels& inv, const Dense& scale,
                const Dense& bias) {
  Dense y(x.dims);
  each_of_channels(x, [&](std::size_t c, std::size_t i) {
    const double normalised = (static_cast<double>(x.values[i]) - mean[c]) * inv[c];
    y.values[i] = static_cast<float>(normalised * static_cast<double>(scale.values[c]) +
                                     static_cast<double>(bias.values[c]));
  });
  return y;
}

/// (1 - factor) * old + factor * fresh.
void put_running(Bindings& bindings, const MaybeTensor& from, const MaybeTensor& to,
                 const Channels& fresh, double factor) {
  if (!to) return;
  Channels values = channels_of(bindings.get(*from));
  for (std::size_t c = 0; c < values.size(); ++c) {
    values[c] = (1 - factor) * values[c] + factor * fresh[c];
  }
  bindings.put(*to, dense_of(values));
}

void put_all_running(Bindings& bindings, const Norm& norm, Statistics statistics, double samples) {
  if (!norm.factor) return;
  const double factor = bindings.scalar(*norm.factor);
  for (double& variance : statistics.variance) variance *= samples / (samples - 1);
  put_running(bindings, norm.old_mean, norm.new_mean, statistics.mean, factor);
  put_running(bindings, norm.old_variance, norm.new_variance, statistics.variance, factor);
}

void train(Bindings& bindings, const Norm& norm) {
  const Dense& x = bindings.get(norm.x);
  const Statistics statistics = statistics_of(x);
  const double epsilon = bindings.scalar(*norm.epsilon);
  Channels inv = statistics.variance;
  for (double& value : inv) value = 1 / std::sqrt(value + epsilon);
  bindings.put(norm.y, normalise(x, statistics.mean, inv, bindings.get(norm.scale),
                                 bindings.get(norm.bias)));
  bindings.put(*norm.mean, dense_of(statistics.mean));
  bindings.put(*norm.inv_variance, dense_of(inv));
  put_all_running(bindings, norm, statistics, samples_of(x));
}

void infer(Bindings& bindings, const Norm& norm) {
  bindings.put(norm.y, normalise(bindings.get(norm.x), channels_of(bindings.get(*norm.mean)),
                                 channels_of(bindings.get(*norm.inv_variance)),
                                 bindings.get(norm.scale), bindings.get(norm.bias)));
}

void check(const Norm& norm, bool training) {
  require(norm.mean && norm.inv_variance, "OPERATION_NORM_FORWARD lacks mean or inverse variance");
  require(!training || norm.epsilon, "OPERATION_NORM_FORWARD in training lacks epsilon");
  require(!norm.new_mean || (norm.old_mean && norm.factor),
          "OPERATION_NORM_FORWARD lacks what running statistics are made of");
  require(norm.new_mean.has_value() == norm.new_variance.has_value() &&
              norm.new_variance.has_value() == norm.old_variance.has_value(),
          "OPERATION_NORM_FORWARD has only some of the running statistics");
  for (const auto& of_channels : {norm.scale, norm.bias, *norm.mean, *norm.inv_variance}) {
    require(of_channels.dims == Dims{1, norm.x.dims[1], 1, 1},
            "OPERATION_NORM_FORWARD: scale, bias and statistics must be (1, C, 1, 1)",
            CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  }
  require(norm.x.dims == norm.y.dims, "OPERATION_NORM_FORWARD: x and y differ in shape",
          CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
}

std::vector<TensorSpec> present(const std::vector<MaybeTensor>& tensors) {
  std::vector<TensorSpec> result;
  for (const auto& tensor : tensors) {
    if (tensor) result.push_back(*tensor);
  }
  return result;
}

}  // namespace

Operation make_norm_forward(const Descriptor& d) {
  require(d.one<cudnnBackendNormMode_t>(CUDNN_ATTR_OPERATION_NORM_FWD_MODE) == CUDNN_BATCH_NORM,
          "the stand-in knows batch normalisation only", CUDNN_STATUS_NOT_SUPPORTED);
  const Norm norm = norm_of(d);
  const bool training = d.one<cudnnBackendNormFwdPhase_t>(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE) ==
                        CUDNN_NORM_FWD_TRAINING;
  check(norm, training);
  if (!training) {
    return {present({norm.x, norm.scale, norm.bias, norm.mean, norm.inv_variance}),
            {norm.y},
            [norm](Bindings& bindings) { infer(bindings, norm); }};
  }
  return {present({norm.x, norm.scale, norm.bias, norm.epsilon, norm.factor, norm.old_mean,
                   norm.old_variance}),
          present({norm.y, norm.mean, norm.inv_variance, norm.new_mean, norm.new_variance}),
          [norm](Bindings& bindings) { train(bindings, norm); }};
}

}  // namespace rueda::standin
