#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "reduce/reduce_journal.hpp"
#include "reduce/reduce_table.hpp"
#include "rueda/reduce/algorithm.hpp"
#include "rueda/reduce/all_reduce.hpp"

namespace rueda {

/// Sums each slice in the way that a table names for its length.
class ChosenAllReduce final : public AllReduce {
 public:
  using Make = std::function<std::unique_ptr<AllReduce>(const ReduceWay&)>;

  /// Collective if `make` is: makes each way of the table once, in its order. The table has rows.
  ChosenAllReduce(ReduceTable table, const Make& make) : table_(std::move(table)) {
    const auto& rows = table_.rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto known = std::ranges::find(rows, rows[i].way, &ReduceTable::Row::way);
      const auto first = std::size_t(known - rows.begin());
      if (first == i) {
        parts_.push_back(make(rows[i].way));
        part_of_row_.push_back(parts_.back().get());
      } else {
        part_of_row_.push_back(part_of_row_[first]);
      }
      if (i > 0) name_ += ", ";
      name_ += part_of_row_[i]->name();
      if (rows[i].most_bytes != SIZE_MAX) name_ += " to " + length_text(rows[i].most_bytes);
    }
    name_ += ")";
  }

  /// For people: "auto (doubling to 64 KiB, ring)".
  std::string_view name() const override { return name_; }
  /// Why the table has these rows.
  std::string details() const override { return table_.why; }
  std::string table() const override { return table_text(table_); }
  Event sum(std::span<float> slice, Event ready, ReduceJournal& journal) override {
    return for_length(slice.size()).sum(slice, ready, journal);
  }
  Event sum_exactly(std::span<float> slice, Event ready, ReduceJournal& journal) override {
    return for_length(slice.size()).sum_exactly(slice, ready, journal);
  }
  AllReduce& for_length(std::size_t length) override {
    const ReduceTable::Row& row = table_.row(length * sizeof(float));
    return *part_of_row_[std::size_t(&row - table_.rows.data())];
  }
  std::span<float> arena() override {
    for (const auto& part : parts_)
      if (!part->arena().empty()) return part->arena();
    return {};
  }
  /// The most that a slice of up to `length` takes.
  std::size_t scratch_floats(std::size_t length) const override {
    std::size_t most = 0;
    for (std::size_t i = 0; i < table_.rows.size(); ++i) {
      // The longest slice that the row is asked for.
      const std::size_t floats = std::min(length, table_.rows[i].most_bytes / sizeof(float));
      most = std::max(most, part_of_row_[i]->scratch_floats(floats));
      if (floats == length) break;
    }
    return most;
  }

 private:
  ReduceTable table_;
  std::vector<std::unique_ptr<AllReduce>> parts_;
  std::vector<AllReduce*> part_of_row_;
  std::string name_ = "auto (";
};

}  // namespace rueda
