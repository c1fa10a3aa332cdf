#include "small_graphs.hpp"

#include <utility>

#include "model/graph_builder.hpp"

namespace rueda::test {
namespace {

constexpr BatchNormNode kNorm{};
constexpr BatchNormNode kNormRelu{.relu = true};
/// As Keras: its epsilon, the running variance as the batch has it.
constexpr BatchNormNode kKerasNormRelu{
    .epsilon = 1.001e-5F, .running_variance = RunningVariance::biased, .relu = true};

Graph classified(GraphBuilder&& g, NodeId x) {
  x = g.global_average_pool("pool", x);
  g.dense("linear", x, {.units = 10, .bias_init = Init::fan_in_uniform});
  return std::move(g).finish();
}

NodeId basic_block(GraphBuilder& g, const std::string& name, NodeId x, NodeId skip, int filters,
                   int stride) {
  NodeId y = g.conv(name + ".conv1", x, {.filters = filters, .stride = stride});
  y = g.batch_norm(name + ".bn1", y, kNormRelu);
  y = g.conv(name + ".conv2", y, {.filters = filters});
  y = g.batch_norm(name + ".bn2", y, kNorm);
  return g.add(name + ".add", y, skip, true);
}

NodeId stem(GraphBuilder& g) {
  return g.batch_norm("bn", g.conv("conv", g.input(), {.filters = 8}), kNormRelu);
}

struct PreactivationOptions {
  bool project = false;
  int stride = 1;
};

NodeId preactivation_block(GraphBuilder& g, const std::string& name, NodeId x,
                           const PreactivationOptions& o) {
  const Init glorot = Init::glorot_uniform;
  const NodeId active = g.batch_norm(name + ".preact_bn", x, kKerasNormRelu);
  NodeId skip = x;
  if (o.project) {
    skip = g.conv(name + ".0_conv", active,
                  {.filters = 16, .kernel = 1, .padding = 0, .bias = true, .weight_init = glorot});
  } else if (o.stride > 1) {
    skip = g.max_pool(name + ".pool", x, {.kernel = 1, .stride = o.stride, .padding = 0});
  }
  NodeId y = g.conv(name + ".1_conv", active,
                    {.filters = 8, .kernel = 1, .padding = 0, .weight_init = glorot});
  y = g.batch_norm(name + ".1_bn", y, kKerasNormRelu);
  y = g.conv(name + ".2_conv", y, {.filters = 8, .stride = o.stride, .weight_init = glorot});
  y = g.batch_norm(name + ".2_bn", y, kKerasNormRelu);
  y = g.conv(name + ".3_conv", y,
             {.filters = 16, .kernel = 1, .padding = 0, .bias = true, .weight_init = glorot});
  return g.add(name + ".out", skip, y, false);
}

}  // namespace

Graph small_option_a(int image_size) {
  GraphBuilder g("small_option_a", {3, image_size, image_size});
  NodeId x = stem(g);
  x = basic_block(g, "a", x, x, 8, 1);
  x = basic_block(g, "b", x, g.pad_shortcut("b.shortcut", x, 16, 2), 16, 2);
  return classified(std::move(g), x);
}

Graph small_projection(int image_size) {
  GraphBuilder g("small_projection", {3, image_size, image_size});
  NodeId x = stem(g);
  x = basic_block(g, "a", x, x, 8, 1);
  const NodeId skip =
      g.conv("b.shortcut.0", x, {.filters = 16, .kernel = 1, .stride = 2, .padding = 0});
  x = basic_block(g, "b", x, g.batch_norm("b.shortcut.1", skip, kNorm), 16, 2);
  return classified(std::move(g), x);
}

Graph small_preactivation(int image_size) {
  GraphBuilder g("small_preactivation", {3, image_size, image_size});
  NodeId x = g.conv("conv1", g.input(),
                    {.filters = 8,
                     .kernel = 7,
                     .stride = 2,
                     .padding = 3,
                     .bias = true,
                     .weight_init = Init::glorot_uniform,
                     .bias_init = Init::fan_in_uniform});
  x = g.max_pool("pool1", x,
                 {.kernel = 3, .stride = 2, .padding = 1, .filled_with = PoolPadding::zeros});
  x = preactivation_block(g, "block1", x, {.project = true});
  x = preactivation_block(g, "block2", x, {});
  x = preactivation_block(g, "block3", x, {.stride = 2});
  x = g.batch_norm("post_bn", x, kKerasNormRelu);
  return classified(std::move(g), x);
}

Graph small_three_readers(int image_size) {
  GraphBuilder g("small_three_readers", {3, image_size, image_size});
  const NodeId x = g.conv("conv", g.input(), {.filters = 8, .bias = true});
  const NodeId left = g.batch_norm("left", x, kNormRelu);
  const NodeId right = g.max_pool("right", x, {.kernel = 3, .stride = 1, .padding = 1});
  const NodeId y = g.add("first", left, right, false);
  return classified(std::move(g), g.add("second", y, x, true));
}

Graph small_one_of_each(Origin origin) {
  GraphBuilder g("small_one_of_each", {3, 9, 9}, origin);
  NodeId x = g.conv("conv", g.input(), {.filters = 5, .kernel = 2, .padding = 0, .bias = true});
  x = g.batch_norm("bn", x, {});
  g.dense("dense", g.global_average_pool("pool", x), {.units = 4});
  return std::move(g).finish();
}

const std::vector<SmallGraph>& small_graphs() {
  static const std::vector<SmallGraph> graphs = {{"option A", small_option_a},
                                                 {"projection", small_projection},
                                                 {"pre-activation", small_preactivation},
                                                 {"three readers", small_three_readers}};
  return graphs;
}

}  // namespace rueda::test
