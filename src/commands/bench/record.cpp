#include "record.hpp"

#include <algorithm>

namespace rueda::bench {

Figures figures_of(const Row& row, std::size_t ranks, const Row* mpi) {
  Figures figures;
  figures.median = median_of(row.seconds);
  figures.p99 = quantile(row.seconds, 0.99);
  figures.bandwidth = bandwidth(static_cast<double>(row.size.bytes), figures.median, ranks);
  if (mpi != nullptr && figures.median > 0) {
    figures.times_mpi = median_of(mpi->seconds) / figures.median;
  }
  return figures;
}

const Row* mpi_row(const std::vector<Row>& rows, const Size& size) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) {
    return r.algorithm == to_string(Algorithm::mpi) && r.size == size;
  });
  return row == rows.end() ? nullptr : &*row;
}

std::vector<int> layout_of(const std::vector<std::string>& hosts) {
  std::vector<std::string> known;
  std::vector<int> layout;
  for (const std::string& host : hosts) {
    auto place = std::find(known.begin(), known.end(), host);
    if (place == known.end()) place = known.insert(known.end(), host);
    layout.push_back(static_cast<int>(place - known.begin()));
  }
  return layout;
}

}  // namespace rueda::bench
