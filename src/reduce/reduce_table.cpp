#include "rueda/reduce/reduce_table.hpp"

#include <algorithm>
#include <stdexcept>

namespace rueda {

const ReduceWay& ReduceTable::way(std::size_t bytes) const {
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [bytes](const Row& r) { return bytes <= r.most_bytes; });
  if (row == rows.end()) throw std::out_of_range("no way to sum that many bytes");
  return row->way;
}

}  // namespace rueda
