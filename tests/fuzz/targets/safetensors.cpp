// A file of weights: its header, then the tensors, by themselves and into a network.
#include "rueda/weights/safetensors.hpp"

#include <vector>

#include "rueda/weights/weights_file.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/small_graphs.hpp"

namespace {

void read_tensors(const std::filesystem::path& path) {
  rueda::SafetensorsFile file(path);
  for (const rueda::TensorEntry& tensor : file.tensors()) {
    if (tensor.dtype != "F32") continue;
    std::vector<float> values((tensor.end - tensor.begin) / sizeof(float));
    file.read(tensor, values);
  }
}

void read_network(const std::filesystem::path& path) {
  static const rueda::Graph graph = rueda::test::small_one_of_each(rueda::Origin::pytorch);
  std::vector<float> parameters(graph.parameter_count());
  std::vector<float> statistics(graph.statistics_count());
  rueda::load_weights(graph, path, parameters, statistics);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const rueda::fuzz::ScratchFile file("weights.safetensors");
  file.write({data, size});
  rueda::fuzz::read_or_refuse([] { read_tensors(file.path()); });
  rueda::fuzz::read_or_refuse([] { read_network(file.path()); });
  return 0;
}
