#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "graph_run.hpp"
#include "tests/cuda/device_vector.hpp"

// Pooling and the sums behind batch normalisation, by examples small enough to be worked out.

namespace {

using rueda::test::Cudnn;
using rueda::test::Desc;
using rueda::test::DeviceVector;
using rueda::test::make_tensor;
using Floats = std::vector<float>;

const std::vector<std::int64_t> kImage = {1, 1, 3, 3};
const std::vector<std::int64_t> kPooled = {1, 1, 2, 2};

/// Windows of 3 by 3, two apart, over a border of one.
Desc make_pool(cudnnResampleMode_t mode, cudnnPaddingMode_t padding) {
  Desc pool(CUDNN_BACKEND_RESAMPLE_DESCRIPTOR);
  return pool.set<cudnnResampleMode_t>(CUDNN_ATTR_RESAMPLE_MODE, CUDNN_TYPE_RESAMPLE_MODE, {mode})
      .set<cudnnDataType_t>(CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FLOAT})
      .set<cudnnPaddingMode_t>(CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_TYPE_PADDING_MODE, {padding})
      .integers(CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, {2})
      .integers(CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, {3, 3})
      .integers(CUDNN_ATTR_RESAMPLE_STRIDES, {2, 2})
      .integers(CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, {1, 1})
      .integers(CUDNN_ATTR_RESAMPLE_POST_PADDINGS, {1, 1})
      .finish();
}

Desc make_forward(const Desc& pool) {
  Desc operation(CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR);
  return operation.set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, {pool})
      .set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC, {make_tensor(1, kImage)})
      .set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC, {make_tensor(2, kPooled)})
      .finish();
}

Desc make_backward(const Desc& pool) {
  Desc operation(CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR);
  return operation.set(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC, {pool})
      .set(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_XDESC, {make_tensor(1, kImage)})
      .set(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC, {make_tensor(3, kPooled)})
      .set(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC, {make_tensor(4, kImage)})
      .finish();
}

struct Case {
  cudnnResampleMode_t mode;
  cudnnPaddingMode_t padding;
  Floats y;
  Floats dx;
};

}  // namespace

TEST_CASE("pooling and its gradient") {
  // Negative in the upper left window, so that a border of zeros wins there.
  const Floats image = {-9, -8, 7, -6, -5, 4, 3, 2, 1};
  const Floats gradient = {9, 18, 36, 72};
  const Case t = GENERATE_COPY(
      Case{
          CUDNN_RESAMPLE_MAXPOOL, CUDNN_NEG_INF_PAD, {-5, 7, 3, 4}, {0, 0, 18, 0, 9, 72, 36, 0, 0}},
      Case{CUDNN_RESAMPLE_MAXPOOL, CUDNN_ZERO_PAD, {0, 7, 3, 4}, {0, 0, 18, 0, 0, 72, 36, 0, 0}},
      Case{CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING,
           CUDNN_ZERO_PAD,
           {-28.0F / 9, -2.0F / 9, -6.0F / 9, 2.0F / 9},
           {1, 3, 2, 5, 15, 10, 4, 12, 8}},
      Case{CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING,
           CUDNN_ZERO_PAD,
           {-7, -0.5F, -1.5F, 0.5F},
           {2.25F, 6.75F, 4.5F, 11.25F, 33.75F, 22.5F, 9, 27, 18}});
  CAPTURE(t.mode, t.padding);
  const Cudnn cudnn;
  const DeviceVector<float> x(image, cudnn.stream());
  const DeviceVector<float> y(Floats(4), cudnn.stream());
  const DeviceVector<float> dy(gradient, cudnn.stream());
  const DeviceVector<float> dx(Floats(9), cudnn.stream());
  const Desc pool = make_pool(t.mode, t.padding);
  cudnn.run({make_forward(pool)}, {{1, x.data()}, {2, y.data()}});
  CHECK(y.read() == t.y);
  cudnn.run({make_backward(pool)}, {{1, x.data()}, {3, dy.data()}, {4, dx.data()}});
  CHECK(dx.read() == t.dx);
}

TEST_CASE("sums and what batch normalisation makes of them") {
  const Cudnn cudnn;
  const std::vector<std::int64_t> channels = {1, 2, 1, 1};
  const auto on_device = [&](const Floats& v) { return DeviceVector<float>(v, cudnn.stream()); };
  const auto x = on_device({1, 0, 3, 0, 1, 4, 3, 4});
  const auto results = on_device(Floats(32));  // in pairs, 16 bytes apart
  const auto scale = on_device({2, 3});
  const auto bias = on_device({10, 20});
  const auto running_mean = on_device({4, 8});
  const auto running_variance = on_device({2, 4});
  float epsilon = 0;
  float factor = 0.5F;
  std::int64_t count = 4;
  Desc stats(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
  stats
      .set<cudnnGenStatsMode_t>(CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE,
                                {CUDNN_GENSTATS_SUM_SQSUM})
      .set<cudnnDataType_t>(CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
                            {CUDNN_DATA_FLOAT})
      .set(CUDNN_ATTR_OPERATION_GENSTATS_XDESC, {make_tensor(1, {1, 2, 2, 2})})
      .set(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, {make_tensor(10, channels)})
      .set(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, {make_tensor(11, channels)})
      .finish();
  Desc finalize(CUDNN_BACKEND_OPERATION_BN_FINALIZE_STATISTICS_DESCRIPTOR);
  finalize
      .set<cudnnBnFinalizeStatsMode_t>(CUDNN_ATTR_OPERATION_BN_FINALIZE_STATS_MODE,
                                       CUDNN_TYPE_BN_FINALIZE_STATS_MODE,
                                       {CUDNN_BN_FINALIZE_STATISTICS_TRAINING})
      .set<cudnnDataType_t>(CUDNN_ATTR_OPERATION_BN_FINALIZE_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
                            {CUDNN_DATA_FLOAT});
  const auto of_channels = [&](cudnnBackendAttributeName_t name, std::int64_t id) {
    finalize.set(name, {make_tensor(id, channels)});
  };
  of_channels(CUDNN_ATTR_OPERATION_BN_FINALIZE_Y_SUM_DESC, 10);
  of_channels(CUDNN_ATTR_OPERATION_BN_FINALIZE_Y_SQ_SUM_DESC, 11);
  of_channels(CUDNN_ATTR_OPERATION_BN_FINALIZE_SCALE_DESC, 2);
  of_channels(CUDNN_ATTR_OPERATION_BN_FINALIZE_BIAS_DESC, 3);
  of_channels(CUDNN_ATTR_OPERATION_BN_FINALIZE_PREV_RUNNING_MEAN_DESC, 4);
  of_channels(CUDNN_ATTR_OPERATION_BN_FINALIZE_PREV_RUNNING_VAR_DESC, 5);
  of_channels(CUDNN_ATTR_OPERATION_BN_FINALIZE_UPDATED_RUNNING_MEAN_DESC, 12);
  of_channels(CUDNN_ATTR_OPERATION_BN_FINALIZE_UPDATED_RUNNING_VAR_DESC, 13);
  of_channels(CUDNN_ATTR_OPERATION_BN_FINALIZE_SAVED_MEAN_DESC, 14);
  of_channels(CUDNN_ATTR_OPERATION_BN_FINALIZE_SAVED_INV_STD_DESC, 15);
  of_channels(CUDNN_ATTR_OPERATION_BN_FINALIZE_EQ_SCALE_DESC, 16);
  of_channels(CUDNN_ATTR_OPERATION_BN_FINALIZE_EQ_BIAS_DESC, 17);
  const auto by_value = [&](cudnnBackendAttributeName_t name, std::int64_t id,
                            cudnnDataType_t type) {
    finalize.set(
        name, {make_tensor(id, {1, 1, 1, 1}, {.type = type, .is_by_value = true, .strides = {}})});
  };
  by_value(CUDNN_ATTR_OPERATION_BN_FINALIZE_EPSILON_DESC, 6, CUDNN_DATA_FLOAT);
  by_value(CUDNN_ATTR_OPERATION_BN_FINALIZE_EXP_AVERATE_FACTOR_DESC, 7, CUDNN_DATA_FLOAT);
  by_value(CUDNN_ATTR_OPERATION_BN_FINALIZE_ACCUM_COUNT_DESC, 8, CUDNN_DATA_INT64);
  finalize.finish();

  std::vector<rueda::test::Bound> tensors = {{1, x.data()},
                                             {2, scale.data()},
                                             {3, bias.data()},
                                             {4, running_mean.data()},
                                             {5, running_variance.data()},
                                             {6, &epsilon},
                                             {7, &factor},
                                             {8, &count}};
  for (std::int64_t i = 0; i < 8; ++i) tensors.push_back({10 + i, results.data() + 4 * i});
  cudnn.run({finalize, stats}, tensors);  // in the wrong order
  const Floats found = results.read();
  const Floats expected = {8, 8, 20, 32,   3, 5,    5.0F / 3, 4 - 2 + 8.0F / 3,
                           2, 2, 1,  0.5F, 2, 1.5F, 6,        17};
  for (std::size_t i = 0; i < 8; ++i) {
    CAPTURE(i);
    CHECK(found[4 * i] == Approx(expected[2 * i]));
    CHECK(found[4 * i + 1] == Approx(expected[2 * i + 1]));
  }
}
