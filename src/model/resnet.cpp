#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/ranges.h>

#include "base/error.hpp"
#include "model/graph_builder.hpp"
#include "model/registry.hpp"

namespace rueda {
namespace {

using Blocks = std::array<int, 4>;  ///< of each stage; 0: there is none

/// What distinguishes the two families of basic blocks.
struct BlockStyle {
  Init weights;
  Init bias;        ///< of the classifier
  bool projection;  ///< 1x1 convolution and batch norm in the shortcut, else option A
};

ConvOptions conv3x3(int filters, int stride, Init init) {
  return {.filters = filters, .kernel = 3, .stride = stride, .padding = 1, .weight_init = init};
}

NodeId shortcut(GraphBuilder& g, const std::string& name, NodeId x, int filters, int stride,
                const BlockStyle& style) {
  if (stride == 1 && g.shape(x).channels == filters) return x;
  if (!style.projection) return g.pad_shortcut(name + ".shortcut", x, filters, stride);
  const NodeId projected = g.conv(name + ".shortcut.0", x,
                                  {.filters = filters,
                                   .kernel = 1,
                                   .stride = stride,
                                   .padding = 0,
                                   .weight_init = style.weights});
  return g.batch_norm(name + ".shortcut.1", projected, {});
}

/// conv-bn-relu-conv-bn, plus the shortcut, then relu. The shortcut is written
/// down first, so that the long branch is the last to read x in forward and the
/// first in backward.
NodeId basic_block(GraphBuilder& g, const std::string& name, NodeId x, int filters, int stride,
                   const BlockStyle& style) {
  const NodeId skip = shortcut(g, name, x, filters, stride, style);
  NodeId y = g.conv(name + ".conv1", x, conv3x3(filters, stride, style.weights));
  y = g.batch_norm(name + ".bn1", y, {.relu = true});
  y = g.conv(name + ".conv2", y, conv3x3(filters, 1, style.weights));
  y = g.batch_norm(name + ".bn2", y, {});
  return g.add(name + ".add", y, skip, true);
}

/// A stem, stages of basic blocks, and the classifier. Each stage but the first
/// halves the map and doubles the filters.
Graph basic_network(const std::string& name, const Blocks& blocks, int image_size, int classes,
                    int filters, const BlockStyle& style) {
  GraphBuilder g(name, {3, image_size, image_size});
  NodeId x = g.conv("conv1", g.input(), conv3x3(filters, 1, style.weights));
  x = g.batch_norm("bn1", x, {.relu = true});
  for (int s = 1; s <= 4; ++s, filters *= 2)
    for (int b = 0; b < blocks[std::size_t(s - 1)]; ++b)
      x = basic_block(g, fmt::format("layer{}.{}", s, b), x, filters, s > 1 && b == 0 ? 2 : 1,
                      style);
  x = g.global_average_pool("avgpool", x);
  g.dense("linear", x, {.units = classes, .weight_init = style.weights, .bias_init = style.bias});
  return std::move(g).finish();
}

/// The CIFAR networks of He et al., "Deep Residual Learning for Image
/// Recognition" (CVPR 2016, section 4.2): 6n+2 layers, 16/32/64 filters,
/// parameter-free shortcuts (option A), He initialisation.
Graph cifar_resnet(const std::string& name, const Blocks& blocks, int image_size, int classes) {
  return basic_network(name, blocks, image_size, classes, 16,
                       {Init::he_normal, Init::zeros, false});
}

/// ResNet-18 with basic blocks for small images as in kuangliu/pytorch-cifar: a 3x3 stem without
/// pooling, 64/128/256/512 filters, projection shortcuts, PyTorch's default initialisation.
/// 11,173,962 parameters with 10 classes. Layer names are PyTorch's (`layer1.0.conv1`).
Graph resnet18(const std::string& name, const Blocks& blocks, int image_size, int classes) {
  return basic_network(name, blocks, image_size, classes, 64,
                       {Init::fan_in_uniform, Init::fan_in_uniform, true});
}

// The pre-activation networks, in the names of keras.applications.

constexpr Init kWeights = Init::glorot_uniform;

constexpr BatchNormNode kNormRelu{
    .epsilon = 1.001e-5F, .running_variance = RunningVariance::biased, .relu = true};

ConvOptions conv1x1(int filters, bool bias) {
  return {.filters = filters, .kernel = 1, .padding = 0, .bias = bias, .weight_init = kWeights};
}

/// On the other side of the addition is a projection of the activated input in
/// a stack's first block, else the input itself, subsampled where the block has
/// a stride.
NodeId v2_block(GraphBuilder& g, const std::string& name, NodeId x, int filters, int stride,
                bool project) {
  const NodeId activated = g.batch_norm(name + "_preact_bn", x, kNormRelu);
  NodeId skip = x;
  if (project)
    skip = g.conv(name + "_0_conv", activated, conv1x1(4 * filters, true));
  else if (stride > 1)
    skip = g.max_pool(name + "_0_pool", x, {.kernel = 1, .stride = stride});
  NodeId y = g.conv(name + "_1_conv", activated, conv1x1(filters, false));
  y = g.batch_norm(name + "_1_bn", y, kNormRelu);
  y = g.conv(name + "_2_conv", y, {.filters = filters, .stride = stride, .weight_init = kWeights});
  y = g.batch_norm(name + "_2_bn", y, kNormRelu);
  y = g.conv(name + "_3_conv", y, conv1x1(4 * filters, true));
  return g.add(name + "_out", skip, y, false);
}

/// Neither batch norm nor ReLU, and zeros around the pooling: they win against negative values.
NodeId v2_stem(GraphBuilder& g) {
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

/// The pre-activation networks of He et al., "Identity Mappings in Deep Residual Networks" (ECCV
/// 2016), as keras.applications builds ResNet50V2, 101V2 and 152V2 with its classifier: bottleneck
/// blocks, stride 2 in the last block of the first three stacks, a stem without batch norm. With 10
/// classes 23,539,850, 42,549,386 and 58,208,394 trainable parameters. Layer names are Keras'
/// (`conv2_block1_1_conv`).
Graph resnet_v2(const std::string& name, const Blocks& blocks, int image_size, int classes) {
  GraphBuilder g(name, {3, image_size, image_size}, Origin::keras);
  NodeId x = v2_stem(g);
  int filters = 64;
  for (int s = 2; s <= 5; ++s, filters *= 2) {
    const int count = blocks[std::size_t(s - 2)];
    for (int b = 1; b <= count; ++b)
      x = v2_block(g, fmt::format("conv{}_block{}", s, b), x, filters, b == count && s < 5 ? 2 : 1,
                   b == 1);
  }
  x = g.batch_norm("post_bn", x, kNormRelu);
  x = g.global_average_pool("avg_pool", x);
  g.dense("predictions", x, {.units = classes, .weight_init = kWeights});
  return std::move(g).finish();
}

struct Entry {
  std::string_view name;
  Graph (*build)(const std::string& name, const Blocks& blocks, int image_size, int classes);
  Blocks blocks;
};

constexpr std::array kModels = {
    Entry{"resnet20", cifar_resnet, {3, 3, 3}},     Entry{"resnet32", cifar_resnet, {5, 5, 5}},
    Entry{"resnet44", cifar_resnet, {7, 7, 7}},     Entry{"resnet56", cifar_resnet, {9, 9, 9}},
    Entry{"resnet110", cifar_resnet, {18, 18, 18}}, Entry{"resnet18", resnet18, {2, 2, 2, 2}},
    Entry{"resnet50v2", resnet_v2, {3, 4, 6, 3}},   Entry{"resnet101v2", resnet_v2, {3, 4, 23, 3}},
    Entry{"resnet152v2", resnet_v2, {3, 8, 36, 3}},
};

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kModels) names.emplace_back(entry.name);
  return names;
}

Graph build_model(const std::string& name, int image_size, int classes) {
  if (image_size < 1 || classes < 1)
    throw InputError("model " + name + ": image size and classes must be at least 1");
  const auto* entry = std::ranges::find(kModels, name, &Entry::name);
  if (entry != kModels.end()) return entry->build(name, entry->blocks, image_size, classes);
  throw InputError(
      fmt::format("unknown model '{}'; choose one of {}", name, fmt::join(model_names(), ", ")));
}

}  // namespace rueda
