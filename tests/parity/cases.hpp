#pragma once

#include <string>
#include <vector>

#include "digest.hpp"
#include "rueda/model/registry.hpp"

namespace rueda::test {

/// Of which training steps are stored, too.
inline std::vector<std::string> trained_networks() {
  return {"resnet20", "resnet18", "resnet50v2"};
}

/// All of which something is stored.
inline std::vector<std::string> all_networks() {
  auto names = trained_networks();
  names.insert(names.end(), {"resnet101v2", "resnet152v2"});
  return names;
}

/// A network and what is stored of it.
struct Case {
  explicit Case(const std::string& name)
      : reference(read_reference(name)),
        graph(build_model(name, reference.at("image_size"), 10)),
        batch(reference.at("batch")) {}
  nlohmann::json reference;
  Graph graph;
  std::size_t batch;
};

}  // namespace rueda::test
