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

}  // namespace rueda::bench
