#include <string>

#include "rueda/core/error.hpp"
#include "rueda/model/registry.hpp"

namespace rueda {
namespace {

/// What distinguishes the two families of basic blocks.
struct BlockStyle {
  Init init;
  bool projection;  ///< 1x1 convolution and batch norm in the shortcut, else option A
};

ConvOptions conv3x3(int filters, int stride, Init init) {
  return {.filters = filters, .kernel = 3, .stride = stride, .padding = 1, .weight_init = init};
}

NodeId shortcut(GraphBuilder& g, const std::string& name, NodeId x, int filters, int stride,
                const BlockStyle& style) {
  if (stride == 1 && g.shape(x).channels == filters) return x;
  if (!style.projection) return g.pad_shortcut(name + ".shortcut", x, filters, stride);
  const NodeId projected = g.conv(
      name + ".shortcut.0", x,
      {.filters = filters, .kernel = 1, .stride = stride, .padding = 0, .weight_init = style.init});
  return g.batch_norm(name + ".shortcut.1", projected, {});
}

/// conv-bn-relu-conv-bn, plus the shortcut, then relu. The shortcut is written down first, so that
/// the long branch is the last to read x in forward and the first in backward.
NodeId basic_block(GraphBuilder& g, const std::string& name, NodeId x, int filters, int stride,
                   const BlockStyle& style) {
  const NodeId skip = shortcut(g, name, x, filters, stride, style);
  NodeId y = g.conv(name + ".conv1", x, conv3x3(filters, stride, style.init));
  y = g.batch_norm(name + ".bn1", y, {.relu = true});
  y = g.conv(name + ".conv2", y, conv3x3(filters, 1, style.init));
  y = g.batch_norm(name + ".bn2", y, {});
  return g.add(name + ".add", y, skip, true);
}

NodeId stage(GraphBuilder& g, const std::string& name, NodeId x, int blocks, int filters,
             int first_stride, const BlockStyle& style) {
  for (int b = 0; b < blocks; ++b) {
    x = basic_block(g, name + "." + std::to_string(b), x, filters, b == 0 ? first_stride : 1,
                    style);
  }
  return x;
}

NodeId stem(GraphBuilder& g, int filters, Init init) {
  const NodeId x = g.conv("conv1", g.input(), conv3x3(filters, 1, init));
  return g.batch_norm("bn1", x, {.relu = true});
}

Graph classifier(GraphBuilder&& g, NodeId x, int classes, Init weight, Init bias) {
  x = g.global_average_pool("avgpool", x);
  g.dense("linear", x, {.units = classes, .weight_init = weight, .bias_init = bias});
  return std::move(g).finish();
}

}  // namespace

Graph cifar_resnet(int depth, int image_size, int classes) {
  if (depth < 8 || (depth - 2) % 6 != 0) {
    throw InputError("model resnet" + std::to_string(depth) +
                     ": a CIFAR ResNet has 6n+2 layers; choose resnet20, 32, 44, 56 or 110");
  }
  const int blocks = (depth - 2) / 6;
  const BlockStyle style{Init::he_normal, false};
  GraphBuilder g("resnet" + std::to_string(depth), {3, image_size, image_size});
  NodeId x = stem(g, 16, style.init);
  x = stage(g, "layer1", x, blocks, 16, 1, style);
  x = stage(g, "layer2", x, blocks, 32, 2, style);
  x = stage(g, "layer3", x, blocks, 64, 2, style);
  return classifier(std::move(g), x, classes, Init::he_normal, Init::zeros);
}

Graph resnet18(int image_size, int classes) {
  const BlockStyle style{Init::fan_in_uniform, true};
  GraphBuilder g("resnet18", {3, image_size, image_size});
  NodeId x = stem(g, 64, style.init);
  int filters = 64;
  for (int s = 1; s <= 4; ++s, filters *= 2) {
    x = stage(g, "layer" + std::to_string(s), x, 2, filters, s == 1 ? 1 : 2, style);
  }
  return classifier(std::move(g), x, classes, Init::fan_in_uniform, Init::fan_in_uniform);
}

}  // namespace rueda
