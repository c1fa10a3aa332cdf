#include "rueda/reduce/reduce_table.hpp"

#include <algorithm>
#include <stdexcept>

namespace rueda {

const ReduceTable::Row& ReduceTable::row(std::size_t bytes) const {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [bytes](const Row& r) { return bytes <= r.most_bytes; });
  if (found == rows.end()) throw std::out_of_range("no way to sum that many bytes");
  return *found;
}

}  // namespace rueda
