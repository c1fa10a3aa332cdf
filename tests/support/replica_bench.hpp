#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend_under_test.hpp"
#include "device_values.hpp"
#include "random_tensor.hpp"
#include "reference_network.hpp"
#include "rueda/backend/replica.hpp"

namespace rueda::test {

/// Random images with the labels 0, 3, 6, 9, 2, ...
inline ImageSet random_images(std::size_t count) {
  ImageSet set;
  for (std::size_t i = 0; i < count * kImageBytes; ++i) {
    set.pixels.push_back(std::uint8_t(random_bits(99, i) >> 56));
  }
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
  /// One micro-batch, forward and backward.
  void step(const std::vector<std::uint32_t>& indices, float scale) {
    load(indices);
    replica_.forward();
    replica_.loss(scale);
    replica_.backward();
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

}  // namespace rueda::test
