#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rueda/reduce/algorithm.hpp"
#include "rueda/reduce/all_reduce.hpp"

namespace rueda {

/// Sums each slice in the way that a table names for its length.
class ChosenAllReduce final : public AllReduce {
 public:
  using Make = std::function<std::unique_ptr<AllReduce>(const ReduceWay&)>;

  /// Collective if `make` is: makes each way of the table once, in its order. The table has rows.
  ChosenAllReduce(ReduceTable table, const Make& make);

  /// For people: "auto (doubling to 64 KiB, ring)".
  std::string_view name() const override { return name_; }
  /// Why the table has these rows.
  std::string details() const override { return table_.why; }
  Event sum(std::span<float> slice, Event ready) override {
    return for_length(slice.size()).sum(slice, ready);
  }
  Event sum_exactly(std::span<float> slice, Event ready) override {
    return for_length(slice.size()).sum_exactly(slice, ready);
  }
  AllReduce& for_length(std::size_t length) override;
  std::span<float> arena() override;
  /// The most that a slice of up to `length` takes.
  std::size_t scratch_floats(std::size_t length) const override;
  std::size_t kept_floats(std::size_t length) const override;
  std::vector<std::span<float>> carried() override;

 private:
  ReduceTable table_;
  std::vector<std::unique_ptr<AllReduce>> parts_;
  std::vector<AllReduce*> part_of_row_;
  std::string name_;
};

}  // namespace rueda
