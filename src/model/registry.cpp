#include "rueda/model/registry.hpp"

#include <array>

#include "rueda/core/error.hpp"

namespace rueda {
namespace {

struct Entry {
  const char* name;
  Graph (*build)(int image_size, int classes);
};

template <int depth>
Graph cifar(int image_size, int classes) {
  return cifar_resnet(depth, image_size, classes);
}

template <int depth>
Graph v2(int image_size, int classes) {
  return resnet_v2(depth, image_size, classes);
}

constexpr std::array kModels = {
    Entry{"resnet20", cifar<20>}, Entry{"resnet32", cifar<32>},   Entry{"resnet44", cifar<44>},
    Entry{"resnet56", cifar<56>}, Entry{"resnet110", cifar<110>}, Entry{"resnet18", resnet18},
    Entry{"resnet50v2", v2<50>},  Entry{"resnet101v2", v2<101>},  Entry{"resnet152v2", v2<152>},
};

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kModels) names.emplace_back(entry.name);
  return names;
}

Graph build_model(const std::string& name, int image_size, int classes) {
  if (image_size < 1 || classes < 1) {
    throw InputError("model " + name + ": image size and classes must be at least 1");
  }
  std::string known;
  for (const Entry& entry : kModels) {
    if (name == entry.name) return entry.build(image_size, classes);
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw InputError("unknown model '" + name + "'; choose one of " + known);
}

}  // namespace rueda
