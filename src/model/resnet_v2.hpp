#pragma once

#include "rueda/model/graph.hpp"

namespace rueda {

/// The pre-activation networks of He et al., "Identity Mappings in Deep Residual Networks" (ECCV
/// 2016), as keras.applications builds ResNet50V2, 101V2 and 152V2 with its classifier: bottleneck
/// blocks, stride 2 in the last block of the first three stacks, a stem without batch norm.
/// `depth` is 50, 101 or 152; anything else throws InputError. With 10 classes 23,539,850,
/// 42,549,386 and 58,208,394 trainable parameters. Layer names are Keras' (`conv2_block1_1_conv`).
Graph resnet_v2(int depth, int image_size, int classes);

}  // namespace rueda
