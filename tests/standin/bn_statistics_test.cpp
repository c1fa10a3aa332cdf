#include <map>
#include <vector>

#include <catch2/catch.hpp>

#include "../cuda/device_vector.hpp"
#include "cuda/cudnn/cudnn_plan.hpp"

// Sums over a convolution's output, and what batch normalisation makes of them.

namespace {

using rueda::cuda::Descriptor;
using rueda::test::DeviceVector;
using Floats = std::vector<float>;
using Name = cudnnBackendAttributeName_t;

Descriptor make_tensor(std::int64_t id, const std::vector<std::int64_t>& dims,
                       cudnnDataType_t type = CUDNN_DATA_FLOAT, bool by_value = false) {
  const std::vector<std::int64_t> strides = {dims[1] * dims[2] * dims[3], 1, dims[1] * dims[3],
                                             dims[1]};
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{by_value ? 4 : 16});
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span<const std::int64_t>(dims));
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, std::span<const std::int64_t>(strides));
  tensor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, by_value);
  tensor.finalize();
  return tensor;
}

template <typename Mode>
Descriptor make_operation(cudnnBackendDescriptorType_t type, Name mode_name,
                          cudnnBackendAttributeType_t mode_type, Mode mode, Name precision,
                          const std::map<Name, Descriptor>& tensors) {
  Descriptor operation(type);
  rueda::cuda::check(cudnnBackendSetAttribute(operation.get(), mode_name, mode_type, 1, &mode),
                     "the mode");
  operation.set(precision, CUDNN_DATA_FLOAT);
  for (const auto& [name, tensor] : tensors) operation.set(name, tensor);
  operation.finalize();
  return operation;
}

Descriptor make_gen_stats() {
  std::map<Name, Descriptor> tensors;
  tensors[CUDNN_ATTR_OPERATION_GENSTATS_XDESC] = make_tensor(1, {1, 2, 2, 2});
  tensors[CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC] = make_tensor(10, {1, 2, 1, 1});
  tensors[CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC] = make_tensor(11, {1, 2, 1, 1});
  return make_operation(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR,
                        CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE,
                        CUDNN_GENSTATS_SUM_SQSUM, CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, tensors);
}

/// Of each channel; then what is passed by value.
constexpr std::pair<Name, std::int64_t> kOfChannels[] = {
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_Y_SUM_DESC, 10},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_Y_SQ_SUM_DESC, 11},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_SCALE_DESC, 2},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_BIAS_DESC, 3},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_PREV_RUNNING_MEAN_DESC, 4},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_PREV_RUNNING_VAR_DESC, 5},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_UPDATED_RUNNING_MEAN_DESC, 12},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_UPDATED_RUNNING_VAR_DESC, 13},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_SAVED_MEAN_DESC, 14},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_SAVED_INV_STD_DESC, 15},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_EQ_SCALE_DESC, 16},
    {CUDNN_ATTR_OPERATION_BN_FINALIZE_EQ_BIAS_DESC, 17}};

Descriptor make_bn_finalize() {
  std::map<Name, Descriptor> tensors;
  for (const auto& [name, id] : kOfChannels) tensors[name] = make_tensor(id, {1, 2, 1, 1});
  const auto by_value = [&](Name name, std::int64_t id, cudnnDataType_t type) {
    tensors[name] = make_tensor(id, {1, 1, 1, 1}, type, true);
  };
  by_value(CUDNN_ATTR_OPERATION_BN_FINALIZE_EPSILON_DESC, 6, CUDNN_DATA_FLOAT);
  by_value(CUDNN_ATTR_OPERATION_BN_FINALIZE_EXP_AVERATE_FACTOR_DESC, 7, CUDNN_DATA_FLOAT);
  by_value(CUDNN_ATTR_OPERATION_BN_FINALIZE_ACCUM_COUNT_DESC, 8, CUDNN_DATA_INT64);
  return make_operation(CUDNN_BACKEND_OPERATION_BN_FINALIZE_STATISTICS_DESCRIPTOR,
                        CUDNN_ATTR_OPERATION_BN_FINALIZE_STATS_MODE,
                        CUDNN_TYPE_BN_FINALIZE_STATS_MODE, CUDNN_BN_FINALIZE_STATISTICS_TRAINING,
                        CUDNN_ATTR_OPERATION_BN_FINALIZE_MATH_PREC, tensors);
}

}  // namespace

TEST_CASE("sums and what batch normalisation makes of them") {
  cudnnHandle_t raw = nullptr;
  rueda::cuda::check(cudnnCreate(&raw), "cudnnCreate");
  const rueda::cuda::CudnnHandle handle(raw);
  const auto on_device = [&](const Floats& v) { return DeviceVector<float>(v, nullptr); };
  const auto x = on_device({1, 0, 3, 0, 1, 4, 3, 4});
  const auto results = on_device(Floats(32));  // in pairs, 16 bytes apart
  const auto scale = on_device({2, 3});
  const auto bias = on_device({10, 20});
  const auto running_mean = on_device({4, 8});
  const auto running_variance = on_device({2, 4});
  float epsilon = 0;
  float factor = 0.5F;
  std::int64_t count = 4;
  const Descriptor finalize = make_bn_finalize();
  const Descriptor stats = make_gen_stats();
  const std::vector operations = {finalize.get(), stats.get()};  // in the wrong order
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, std::span<const cudnnBackendDescriptor_t>(operations));
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, raw);
  graph.finalize();
  std::vector<std::pair<std::int64_t, void*>> tensors = {{1, x.data()},
                                                         {2, scale.data()},
                                                         {3, bias.data()},
                                                         {4, running_mean.data()},
                                                         {5, running_variance.data()},
                                                         {6, &epsilon},
                                                         {7, &factor},
                                                         {8, &count}};
  for (std::int64_t i = 0; i < 8; ++i) tensors.emplace_back(10 + i, results.data() + 4 * i);
  const auto plans = rueda::cuda::make_plans({raw}, graph, {.most = 1});
  const Descriptor pack = rueda::cuda::bind_tensors(tensors, nullptr);
  rueda::cuda::check(cudnnBackendExecute(raw, plans.at(0).plan.get(), pack.get()), "execute");
  const Floats found = results.read();
  const Floats expected = {8, 8, 20, 32,   3, 5,    5.0F / 3, 4 - 2 + 8.0F / 3,
                           2, 2, 1,  0.5F, 2, 1.5F, 6,        17};
  for (std::size_t i = 0; i < 8; ++i) {
    CAPTURE(i);
    CHECK(found[4 * i] == Approx(expected[2 * i]));
    CHECK(found[4 * i + 1] == Approx(expected[2 * i + 1]));
  }
}
