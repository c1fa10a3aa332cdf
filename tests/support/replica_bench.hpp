#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "backend/replica.hpp"
#include "backend_under_test.hpp"
#include "model/graph_builder.hpp"
#include "reference_network.hpp"
#include "reference_ops.hpp"
#include "rueda/model/graph.hpp"

namespace rueda::test {

/// Random images with the labels 0, 3, 6, 9, 2, ...
inline ImageSet random_images(std::size_t count) {
  ImageSet set;
  for (std::size_t i = 0; i < count * kImageBytes; ++i)
    set.pixels.push_back(std::uint8_t(random_bits(99, i) >> 56));
  for (std::size_t i = 0; i < count; ++i) set.labels.push_back(std::uint8_t(3 * i % 10));
  return set;
}

/// Small random values; those of gammas around 1.
inline Vector some_parameters(const Graph& graph, std::uint64_t key = 31) {
  Vector values = random_vector(key, graph.parameter_count(), 0.3);
  for (const Parameter& p : graph.parameters()) {
    if (p.init != Init::ones) continue;
    for (std::size_t i = 0; i < p.count; ++i) values[p.offset + i] += 1.0;
  }
  return values;
}

/// Resized, centred and without augmentation: values about -2 ... 2.
inline kernels::PixelTransform plain_transform(int image_size) {
  kernels::PixelTransform t;
  t.image_size = image_size;
  for (int c = 0; c < kImageChannels; ++c) {
    t.mean[c] = 120.0F + float(c);
    t.scale[c] = 1.0F / 64.0F;
  }
  return t;
}

/// A batch as the reference takes it.
struct ReferenceBatch {
  Tensor input;
  std::vector<std::int32_t> labels;
};

inline ReferenceBatch reference_batch(const ImageSet& images,
                                      const std::vector<std::uint32_t>& indices, int image_size) {
  const kernels::PixelTransform t = plain_transform(image_size);
  ReferenceBatch batch{Tensor(int(indices.size()), 3, image_size, image_size), {}};
  for_each_place(batch.input, [&](int n, int c, int y, int x) {
    const std::uint8_t* image = images.image(indices[std::size_t(n)]).data();
    batch.input.at(n, c, y, x) = double(kernels::input_value(image, t, {}, c, y, x));
  });
  for (const std::uint32_t i : indices) batch.labels.push_back(images.labels[i]);
  return batch;
}

/// A replica of a graph on the backend under test with images to train on.
class ReplicaBench {
 public:
  ReplicaBench(const Graph& graph, const ImageSet& images, const Vector& parameters,
               std::vector<std::size_t> train_batches, std::vector<std::size_t> infer_batches = {},
               const Variant& variant = repeatable_variant(), Precision precision = Precision::fp32)
      : backend_(open_backend_under_test(variant, precision)),
        replica_(graph, *backend_, std::move(train_batches), std::move(infer_batches)),
        held_(backend_->hold(images)) {
    replica_.initialise(1);
    set_parameters(to_floats(parameters));
  }

  Replica& replica() { return replica_; }
  Backend& backend() { return *backend_; }

  void set_parameters(const std::vector<float>& values) {
    backend_->upload(replica_.parameters(), values);
    replica_.parameters_changed();
  }

  void load(const std::vector<std::uint32_t>& indices) { replica_.load(request(indices)); }
  /// One micro-batch, forward and backward; its sums are read.
  void step(const std::vector<std::uint32_t>& indices, float scale) {
    load(indices);
    replica_.forward();
    replica_.loss(scale);
    replica_.backward();
    replica_.read_step_sums();
    backend_->finish();
  }
  LossSums infer(const std::vector<std::uint32_t>& indices) {
    return replica_.infer(request(indices));
  }
  std::vector<float> gradients() { return read(replica_.gradients()); }
  /// What the device holds there.
  std::vector<float> read(std::span<const float> device) { return read_floats(*backend_, device); }

 private:
  BatchRequest request(const std::vector<std::uint32_t>& indices) const {
    const Graph& graph = replica_.graph();
    return {held_.get(), {indices, plain_transform(graph.shape(graph.input()).height), 0, 0}};
  }

  std::unique_ptr<Backend> backend_;
  Replica replica_;
  std::unique_ptr<DeviceImages> held_;
};

inline double norm(const Vector& all, const Parameter& p) {
  double s = 0;
  for (std::size_t i = p.offset; i < p.offset + p.count; ++i) s += all[i] * all[i];
  return std::sqrt(s);
}

inline std::string layer_of(const Parameter& p) { return p.name.substr(0, p.name.rfind('.')); }

/// The size of a layer's gradients. One parameter's own would not do: that of a bias in front of a
/// batch norm is zero but for rounding.
inline double layer_norm(const Graph& graph, const Vector& all, const Parameter& of) {
  double s = 0;
  for (const Parameter& p : graph.parameters())
    if (layer_of(p) == layer_of(of)) s = std::hypot(s, norm(all, p));
  return s;
}

/// Every parameter's gradient is within `tolerance`, as a fraction of its layer's. Both are in the
/// order of the parameter arena; `actual` may be longer.
inline void check_gradients(const Graph& graph, const Vector& actual, const Vector& expected,
                            double tolerance) {
  Vector difference(expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) difference[i] = actual[i] - expected[i];
  for (const Parameter& p : graph.parameters()) {
    CAPTURE(p.name);
    const double scale = layer_norm(graph, expected, p);
    CHECK(scale > 1e-4);
    CHECK(norm(difference, p) < tolerance * scale);
  }
}

/// image -> convolution -> pool, for square images.
inline Graph image_graph(int side) {
  GraphBuilder g("image", {3, side, side});
  g.global_average_pool("pool", g.conv("conv", g.input(), {.filters = 8}));
  return std::move(g).finish();
}

/// An activation of one node on a backend.
class Activation {
 public:
  Activation(Backend& backend, const Graph& graph, NodeId node, int batch)
      : backend_(backend),
        graph_(graph),
        node_(node),
        batch_(batch),
        memory_(backend.allocate(backend.activation_bytes(graph, node, batch))) {}

  std::byte* data() const { return memory_.data(); }
  void write(const Vector& nchw) {
    write_activation(backend_, graph_, node_, batch_, to_floats(nchw), data());
  }
  Vector read() const {
    return to_doubles(read_activation(backend_, graph_, node_, batch_, data()));
  }

 private:
  Backend& backend_;
  const Graph& graph_;
  NodeId node_;
  int batch_;
  Memory memory_;
};

/// A backend that has planned and bound batches of images, which is when it knows how large they
/// are, and an input activation.
class ImageBench {
 public:
  ImageBench(int side, int batch, Precision precision, int threads = 1)
      : graph_(image_graph(side)),
        backend_(open_backend_under_test(precision, threads)),
        reader_(backend_->make_operation({graph_, 1, batch, Mode::infer})),
        parameters_(*backend_, std::vector<float>(graph_.parameter_count())),
        input_(*backend_, graph_, 0, batch) {
    backend_->bind_parameters(graph_, {parameters_.span(), {}, {}, {}});
  }

  Backend& backend() { return *backend_; }
  std::byte* input() { return input_.data(); }
  /// The input as plain (N, C, H, W) values.
  Vector read_input() { return input_.read(); }

 private:
  Graph graph_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Operation> reader_;
  DeviceFloats parameters_;
  Activation input_;
};

}  // namespace rueda::test
