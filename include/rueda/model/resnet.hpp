#pragma once

#include "graph.hpp"

namespace rueda {

/// The CIFAR networks of He et al., "Deep Residual Learning for Image Recognition" (CVPR 2016,
/// section 4.2): 6n+2 layers, 16/32/64 filters, parameter-free shortcuts (option A), He
/// initialisation. `depth` is 20, 32, 44, 56, 110 or any other 6n+2; anything else throws
/// InputError.
Graph cifar_resnet(int depth, int image_size, int classes);

/// ResNet-18 with basic blocks for small images as in kuangliu/pytorch-cifar: a 3x3 stem without
/// pooling, 64/128/256/512 filters, projection shortcuts, PyTorch's default initialisation.
/// 11,173,962 parameters with 10 classes. Layer names are PyTorch's (`layer1.0.conv1`).
Graph resnet18(int image_size, int classes);

}  // namespace rueda
