#include <array>
#include <string>

#include "rueda/core/error.hpp"
#include "rueda/model/registry.hpp"

namespace rueda {
namespace {

constexpr Init kWeights = Init::glorot_uniform;

constexpr BatchNormOptions kNormRelu{.epsilon = 1.001e-5F,
                                     .momentum = 0.99F,
                                     .running_variance = RunningVariance::biased,
                                     .relu = true};

ConvOptions conv1x1(int filters, bool bias) {
  return {.filters = filters, .kernel = 1, .padding = 0, .bias = bias, .weight_init = kWeights};
}

/// What stands on the other side of the addition: a projection of the activated input in a stack's
/// first block, else the input itself, subsampled where the block has a stride.
NodeId shortcut(GraphBuilder& g, const std::string& name, NodeId x, NodeId activated, int filters,
                int stride, bool project) {
  if (project) return g.conv(name + "_0_conv", activated, conv1x1(4 * filters, true));
  if (stride == 1) return x;
  return g.max_pool(name + "_0_pool", x, {.kernel = 1, .stride = stride});
}

NodeId block(GraphBuilder& g, const std::string& name, NodeId x, int filters, int stride,
             bool project) {
  const NodeId activated = g.batch_norm(name + "_preact_bn", x, kNormRelu);
  const NodeId skip = shortcut(g, name, x, activated, filters, stride, project);
  NodeId y = g.conv(name + "_1_conv", activated, conv1x1(filters, false));
  y = g.batch_norm(name + "_1_bn", y, kNormRelu);
  y = g.conv(name + "_2_conv", y, {.filters = filters, .stride = stride, .weight_init = kWeights});
  y = g.batch_norm(name + "_2_bn", y, kNormRelu);
  y = g.conv(name + "_3_conv", y, conv1x1(4 * filters, true));
  return g.add(name + "_out", skip, y, false);
}

NodeId stack(GraphBuilder& g, const std::string& name, NodeId x, int blocks, int filters,
             int last_stride) {
  for (int b = 1; b <= blocks; ++b) {
    x = block(g, name + "_block" + std::to_string(b), x, filters, b == blocks ? last_stride : 1,
              b == 1);
  }
  return x;
}

/// Neither batch norm nor ReLU, and zeros around the pooling: they win against negative values.
NodeId stem(GraphBuilder& g) {
  const NodeId x = g.conv("conv1_conv", g.input(),
                          {.filters = 64,
                           .kernel = 7,
                           .stride = 2,
                           .padding = 3,
                           .bias = true,
                           .weight_init = kWeights});
  return g.max_pool("pool1_pool", x,
                    {.kernel = 3, .stride = 2, .padding = 1, .filled_with = PoolPadding::zeros});
}

std::array<int, 4> blocks_of(int depth) {
  switch (depth) {
    case 50:
      return {3, 4, 6, 3};
    case 101:
      return {3, 4, 23, 3};
    case 152:
      return {3, 8, 36, 3};
    default:
      throw InputError("model resnet" + std::to_string(depth) +
                       "v2: choose resnet50v2, resnet101v2 or resnet152v2");
  }
}

}  // namespace

Graph resnet_v2(int depth, int image_size, int classes) {
  const std::array<int, 4> blocks = blocks_of(depth);
  GraphBuilder g("resnet" + std::to_string(depth) + "v2", {3, image_size, image_size},
                 Origin::keras);
  NodeId x = stem(g);
  int filters = 64;
  for (int s = 0; s < 4; ++s, filters *= 2) {
    x = stack(g, "conv" + std::to_string(s + 2), x, blocks[static_cast<std::size_t>(s)], filters,
              s == 3 ? 1 : 2);
  }
  x = g.batch_norm("post_bn", x, kNormRelu);
  x = g.global_average_pool("avg_pool", x);
  g.dense("predictions", x, {.units = classes, .weight_init = kWeights});
  return std::move(g).finish();
}

}  // namespace rueda
