#include "rueda/reduce/chosen_all_reduce.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace rueda {

const ReduceTable::Row& ReduceTable::row(std::size_t bytes) const {
  const auto found =
      std::ranges::find_if(rows, [bytes](const Row& r) { return bytes <= r.most_bytes; });
  if (found == rows.end()) throw std::out_of_range("no way to sum that many bytes");
  return *found;
}

std::string length_text(std::size_t bytes) {
  constexpr std::size_t kib = 1024;
  if (bytes % (kib * kib) == 0) return std::to_string(bytes / (kib * kib)) + " MiB";
  if (bytes % kib == 0) return std::to_string(bytes / kib) + " KiB";
  return std::to_string(bytes) + " bytes";
}

ChosenAllReduce::ChosenAllReduce(ReduceTable table, const Make& make) : table_(std::move(table)) {
  const auto& rows = table_.rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto known = std::ranges::find(rows, rows[i].way, &ReduceTable::Row::way);
    const auto first = std::size_t(known - rows.begin());
    if (first == i) parts_.push_back(make(rows[i].way));
    part_of_row_.push_back(first == i ? parts_.back().get() : part_of_row_[first]);
    const bool ends = rows[i].most_bytes == SIZE_MAX;
    name_ += (i == 0 ? "auto (" : ", ") + std::string(part_of_row_[i]->name()) +
             (ends ? "" : " to " + length_text(rows[i].most_bytes));
  }
  name_ += ")";
}

AllReduce& ChosenAllReduce::for_length(std::size_t length) {
  const ReduceTable::Row& row = table_.row(length * sizeof(float));
  AllReduce& part = *part_of_row_[std::size_t(&row - table_.rows.data())];
  part.write_into(journal_);
  return part;
}

std::span<float> ChosenAllReduce::arena() {
  for (const auto& part : parts_)
    if (!part->arena().empty()) return part->arena();
  return {};
}

std::size_t ChosenAllReduce::scratch_floats(std::size_t length) const {
  std::size_t most = 0;
  for (std::size_t i = 0; i < table_.rows.size(); ++i) {
    // The longest slice that the row is asked for.
    const std::size_t floats = std::min(length, table_.rows[i].most_bytes / sizeof(float));
    most = std::max(most, part_of_row_[i]->scratch_floats(floats));
    if (floats == length) break;
  }
  return most;
}

std::size_t ChosenAllReduce::kept_floats(std::size_t length) const {
  std::size_t sum = 0;
  for (const auto& part : parts_) sum += part->kept_floats(length);
  return sum;
}

std::vector<std::span<float>> ChosenAllReduce::carried() {
  std::vector<std::span<float>> all;
  for (const auto& part : parts_) {
    const auto of_part = part->carried();
    all.insert(all.end(), of_part.begin(), of_part.end());
  }
  return all;
}

}  // namespace rueda
