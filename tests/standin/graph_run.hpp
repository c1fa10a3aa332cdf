#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <cudnn_graph.h>

// cuDNN's descriptors for tests: as few words as possible, every status an exception.

namespace rueda::test {

/// Throws std::runtime_error with cuDNN's message unless `status` is success.
void check(cudnnStatus_t status);

/// Owns a descriptor. Copies share it.
class Desc {
 public:
  explicit Desc(cudnnBackendDescriptorType_t type);

  template <typename T>
  Desc& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
            const std::vector<T>& values) {
    check(cudnnBackendSetAttribute(get(), name, type, static_cast<std::int64_t>(values.size()),
                                   values.data()));
    return *this;
  }
  Desc& set(cudnnBackendAttributeName_t name, const std::vector<Desc>& children);
  Desc& integers(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values) {
    return set(name, CUDNN_TYPE_INT64, values);
  }
  Desc& finish();
  cudnnBackendDescriptor_t get() const { return raw_.get(); }

 private:
  std::shared_ptr<void> raw_;
};

/// (N, C, H, W) with channels innermost.
std::vector<std::int64_t> nhwc_strides(const std::vector<std::int64_t>& dims);

struct TensorOptions {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  bool is_virtual = false;
  bool is_by_value = false;
  std::vector<std::int64_t> strides;  ///< empty: channels innermost
};
Desc make_tensor(std::int64_t id, const std::vector<std::int64_t>& dims,
                 const TensorOptions& options = {});

/// A pointwise descriptor of fp32.
Desc make_pointwise(cudnnPointwiseMode_t mode);

/// `x` and, if there is one, `b` give `y`.
Desc make_pointwise_operation(cudnnPointwiseMode_t mode, const Desc& x, const Desc& y,
                              const Desc* b = nullptr);

Desc make_graph(cudnnHandle_t handle, const std::vector<Desc>& operations);

/// Graph, engine, its configuration and the plan.
Desc make_plan(cudnnHandle_t handle, const Desc& graph, std::int64_t engine);

/// A tensor's id and where it lies.
struct Bound {
  std::int64_t id;
  void* pointer;
};
Desc make_pack(const std::vector<Bound>& tensors, void* workspace = nullptr);

/// A handle of cuDNN's on a stream of its own.
class Cudnn {
 public:
  Cudnn();
  ~Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  cudnnHandle_t handle() const { return handle_; }
  cudaStream_t stream() const { return stream_; }
  /// Builds, executes on engine 0 and waits.
  void run(const std::vector<Desc>& operations, const std::vector<Bound>& tensors) const;

 private:
  cudnnHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

}  // namespace rueda::test
