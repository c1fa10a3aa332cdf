#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "data/cifar10.hpp"
#include "rueda/data/dataset.hpp"

namespace rueda {

std::string label_fault(const ImageSet& train, const std::vector<std::string>& class_names) {
  constexpr std::size_t kMostNamed = 5;
  std::vector<bool> present(class_names.size(), false);
  for (const std::uint8_t label : train.labels) present.at(label) = true;
  const auto missing = std::size_t(std::ranges::count(present, false));
  if (missing == 0 || train.size() == 0) return "";
  if (missing + 1 == present.size()) {
    const std::size_t only = train.labels.front();
    return fmt::format(
        "all {} training images are of one of the {} classes, label {} ({}): there "
        "is nothing to learn; check the labels",
        count_text(train.size()), present.size(), only, class_names[only]);
  }
  std::vector<std::string> names;
  for (std::size_t k = 0; k < present.size(); ++k)
    if (!present[k]) names.push_back(class_names[k]);
  return fmt::format(
      "{} of {} classes have no training image ({}): they cannot be learned; check "
      "the labels, and the names in batches.meta",
      missing, present.size(), first_few(names, kMostNamed));
}

}  // namespace rueda
