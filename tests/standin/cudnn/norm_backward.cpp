#include <cmath>

#include "channels.hpp"
#include "operation.hpp"

namespace rueda::standin {
namespace {

struct Norm {
  TensorSpec x, dy, scale, mean, inv_variance, dx, dscale, dbias;
};

Norm norm_of(const Descriptor& d) {
  return {tensor_at(d, CUDNN_ATTR_OPERATION_NORM_BWD_XDESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC),
          needed_tensor(d, CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, "MEAN_DESC"),
          needed_tensor(d, CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, "INV_VARIANCE_DESC"),
          tensor_at(d, CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC),
          tensor_at(d, CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC)};
}

void run(Bindings& bindings, const Norm& norm) {
  const Dense& x = bindings.get(norm.x);
  const Dense& dy = bindings.get(norm.dy);
  const Channels mean = channels_of(bindings.get(norm.mean));
  const Channels inv = channels_of(bindings.get(norm.inv_variance));
  const Channels scale = channels_of(bindings.get(norm.scale));
  const auto normalised = [&](std::size_t c, std::size_t i) {
    return (static_cast<double>(x.values[i]) - mean[c]) * inv[c];
  };
  Channels dscale(mean.size());
  Channels dbias(mean.size());
  each_of_channels(x, [&](std::size_t c, std::size_t i) {
    dscale[c] += static_cast<double>(dy.values[i]) * normalised(c, i);
    dbias[c] += static_cast<double>(dy.values[i]);
  });
  Dense dx(x.dims);
  const double samples = samples_of(x);
  each_of_channels(x, [&](std::size_t c, std::size_t i) {
    const double centred = static_cast<double>(dy.values[i]) - dbias[c] / samples -
                           normalised(c, i) * dscale[c] / samples;
    dx.values[i] = static_cast<float>(scale[c] * inv[c] * centred);
  });
  bindings.put(norm.dx, std::move(dx));
  bindings.put(norm.dscale, dense_of(dscale));
  bindings.put(norm.dbias, dense_of(dbias));
}

void check(const Norm& norm) {
  require(norm.x.dims == norm.dy.dims && norm.x.dims == norm.dx.dims,
          "OPERATION_NORM_BACKWARD: x, dy and dx differ in shape",
          CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  for (const auto& of_channels :
       {norm.scale, norm.mean, norm.inv_variance, norm.dscale, norm.dbias}) {
    require(of_channels.dims == Dims{1, norm.x.dims[1], 1, 1},
            "OPERATION_NORM_BACKWARD: scale and statistics must be (1, C, 1, 1)",
            CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  }
}

}  // namespace

Operation make_norm_backward(const Descriptor& d) {
  require(d.one<cudnnBackendNormMode_t>(CUDNN_ATTR_OPERATION_NORM_BWD_MODE) == CUDNN_BATCH_NORM,
          "the stand-in knows batch normalisation only", CUDNN_STATUS_NOT_SUPPORTED);
  const Norm norm = norm_of(d);
  check(norm);
  return {{norm.x, norm.dy, norm.scale, norm.mean, norm.inv_variance},
          {norm.dx, norm.dscale, norm.dbias},
          [norm](Bindings& bindings) { run(bindings, norm); }};
}

}  // namespace rueda::standin
