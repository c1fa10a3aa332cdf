#include <cudnn_graph.h>

extern "C" size_t cudnnGetVersion() { return CUDNN_VERSION; }
