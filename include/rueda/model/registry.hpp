#pragma once

#include <string>
#include <vector>

#include "rueda/model/graph.hpp"

namespace rueda {

/// The names that `build_model` takes, in the order of a help text.
std::vector<std::string> model_names();

/// Builds a network by name for square images of `image_size` pixels. Throws
/// InputError listing the known names, or naming the layer that the image size
/// does not fit.
Graph build_model(const std::string& name, int image_size, int classes);

/// The CIFAR networks of He et al., "Deep Residual Learning for Image
/// Recognition" (CVPR 2016, section 4.2): 6n+2 layers, 16/32/64 filters,
/// parameter-free shortcuts (option A), He initialisation. `depth` is 20, 32,
/// 44, 56, 110 or any other 6n+2; anything else throws InputError.
Graph cifar_resnet(int depth, int image_size, int classes);

/// ResNet-18 with basic blocks for small images as in kuangliu/pytorch-cifar: a 3x3 stem without
/// pooling, 64/128/256/512 filters, projection shortcuts, PyTorch's default initialisation.
/// 11,173,962 parameters with 10 classes. Layer names are PyTorch's (`layer1.0.conv1`).
Graph resnet18(int image_size, int classes);

/// The pre-activation networks of He et al., "Identity Mappings in Deep Residual Networks" (ECCV
/// 2016), as keras.applications builds ResNet50V2, 101V2 and 152V2 with its classifier: bottleneck
/// blocks, stride 2 in the last block of the first three stacks, a stem without batch norm.
/// `depth` is 50, 101 or 152; anything else throws InputError. With 10 classes 23,539,850,
/// 42,549,386 and 58,208,394 trainable parameters. Layer names are Keras' (`conv2_block1_1_conv`).
Graph resnet_v2(int depth, int image_size, int classes);

}  // namespace rueda
