#include "rueda/data/dataset.hpp"

namespace rueda {

void ImageSet::truncate(std::size_t n) {
  if (n >= size()) return;
  labels.resize(n);
  pixels.resize(n * kImageBytes);
}

}  // namespace rueda
