#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "device_values.hpp"
#include "random_tensor.hpp"

namespace rueda::test {

/// image -> convolution -> pool, for square images.
inline Graph image_graph(int side) {
  GraphBuilder g("image", {3, side, side});
  g.global_average_pool("pool", g.conv("conv", g.input(), {.filters = 8}));
  return std::move(g).finish();
}

/// A backend that has planned and bound batches of images, which is when it knows how large they
/// are, and an input activation.
class ImageBench {
 public:
  ImageBench(int side, int batch, Precision precision, int threads = 1)
      : graph_(image_graph(side)),
        batch_(batch),
        backend_(open_backend_under_test(precision, threads)),
        reader_(backend_->make_operation(graph_, 1, batch, Mode::infer)),
        parameters_(*backend_, std::vector<float>(graph_.parameter_count())),
        input_(backend_->allocate(backend_->activation_bytes(graph_, 0, batch))) {
    backend_->bind_parameters(graph_, {parameters_.span(), {}, {}, {}});
  }

  Backend& backend() { return *backend_; }
  std::byte* input() { return input_->data(); }
  /// The input as plain (N, C, H, W) values.
  Vector read_input() {
    const Shape s = graph_.shape(0);
    std::vector<float> nchw(std::size_t(batch_) * s.elements());
    backend_->read_activation(graph_, 0, batch_, input(), nchw);
    return to_doubles(nchw);
  }

 private:
  Graph graph_;
  int batch_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Operation> reader_;
  DeviceFloats parameters_;
  std::unique_ptr<Memory> input_;
};

}  // namespace rueda::test
