#include "network.hpp"

#include <numeric>

#include "backend/program.hpp"
#include "digest.hpp"
#include "tests/support/backend_under_test.hpp"
#include "train/train_input.hpp"

namespace rueda::test {
namespace {

std::vector<std::uint32_t> indices_of(std::size_t index, std::size_t batch) {
  std::vector<std::uint32_t> indices(batch);
  std::iota(indices.begin(), indices.end(), std::uint32_t(index * batch));
  return indices;
}

/// `graph` is as the origin has it: fused nodes have other names.
void fill(Backend& backend, const Graph& graph, double gain, std::span<float> parameters,
          std::span<float> statistics) {
  std::vector<float> values(parameters.size());
  std::vector<float> running(statistics.size());
  for (const OriginTensor& tensor : origin_tensors(graph))
    from_origin(tensor, formula_values(tensor, graph.origin(), gain), values, running);
  backend.upload(parameters, values);
  backend.upload(statistics, running);
}

}  // namespace

kernels::PixelTransform recipe_transform(const Graph& graph) {
  TrainConfig config;
  config.model.image_size = graph.shape(graph.input()).height;
  if (graph.origin() == Origin::keras) config.data.normalize = Normalize::scale;
  return pixel_transform(config);
}

Output forward_output(const Graph& network, double gain, std::size_t batch, Mode mode) {
  const auto backend = open_backend_under_test();
  const Graph graph = backend->prepare(network);
  Program program(graph, *backend, int(batch), mode);
  const ProgramArenas arenas(*backend, graph);
  const ParameterMemory memory = arenas.memory();
  fill(*backend, network, gain, memory.values, memory.running_statistics);
  backend->bind_parameters(graph, memory);
  const auto pool = backend->allocate(program.pool_bytes());
  program.bind(pool.data());
  backend->pack_parameters();

  const ImageSet image_set = formula_images(batch);
  const auto images = backend->hold(image_set);
  const auto indices = indices_of(0, batch);
  backend->make_batch({images.get(), indices, recipe_transform(graph), 0, 0}, program.input(),
                      program.labels());
  program.forward();
  Output output;
  output.logits =
      read_activation(*backend, graph, graph.logits(), program.batch(), program.logits());
  const DeviceValues<LossSums> sums(*backend, {LossSums{}});
  backend->softmax_cross_entropy({.logits = program.logits(),
                                  .labels = program.labels(),
                                  .rows = program.batch(),
                                  .classes = graph.classes(),
                                  .sums = sums.data()});
  output.loss = double(sums.read().front().loss) / double(batch);
  return output;
}

Network::Network(const Graph& graph, double gain, std::size_t batch, std::size_t batches)
    : graph_(graph),
      tensors_(origin_tensors(graph)),
      batch_(batch),
      backend_(open_backend_under_test()),
      replica_(graph, *backend_, {batch}, {}),
      image_set_(formula_images(batch * batches)),
      images_(backend_->hold(image_set_)) {
  fill(*backend_, graph, gain, replica_.parameters(), replica_.running_statistics());
  replica_.parameters_changed();
}

double Network::step(std::size_t index) {
  const auto indices = indices_of(index, batch_);
  replica_.load({images_.get(), indices, recipe_transform(graph_), 0, 0});
  replica_.forward();
  replica_.loss(1.0F / float(batch_));
  replica_.backward();
  replica_.read_step_sums();
  replica_.backend().finish();
  const StepSums& sums = replica_.step_sums();
  return double(sums.loss) / double(sums.samples);
}

void Network::update(Sgd& optimizer, double learning_rate) {
  const auto parameters = replica_.parameters();
  optimizer.update(parameters, replica_.gradients().first(parameters.size()), 0, learning_rate);
  replica_.update_running_statistics(float(batch_));
  replica_.parameters_updated();
}

Sgd Network::make_optimizer(const Sgd::Options& options) {
  return {*backend_, replica_.parameters(), options};
}

NamedTensors Network::named(bool trainable, std::span<const float> device) {
  std::vector<float> arena = read_floats(*backend_, device);
  NamedTensors result;
  for (const OriginTensor& tensor : tensors_) {
    if (tensor.trainable != trainable) continue;
    auto& values = result[tensor.name];
    values.resize(tensor.elements());
    to_origin(tensor, arena, arena, values);
  }
  return result;
}

NamedTensors Network::gradients() { return named(true, replica_.gradients()); }
NamedTensors Network::parameters() { return named(true, replica_.parameters()); }
NamedTensors Network::running_statistics() { return named(false, replica_.running_statistics()); }

}  // namespace rueda::test
