#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

#include "train/options.hpp"

// Kinds of options, each made from the member that holds the value.

namespace rueda {

template <typename Part, typename Value>
Value value_type(Value Part::*);
template <typename Part, typename Value>
Part part_type(Value Part::*);

/// The part of the configuration that has the type `Part`.
template <typename Part, typename Config>
auto& part_of(Config& c) {
  auto parts = std::tie(c.model, c.data, c.training, c.optimizer, c.batch, c.device, c.compute,
                        c.sums, c.checks, c.checkpoints, c.output);
  if constexpr (std::is_const_v<Config>)
    return std::get<const Part&>(parts);
  else
    return std::get<Part&>(parts);
}

template <auto kMember>
auto& member_of(TrainConfig& c) {
  return part_of<decltype(part_type(kMember))>(c).*kMember;
}
template <auto kMember>
const auto& member_in(const TrainConfig& c) {
  return part_of<decltype(part_type(kMember))>(c).*kMember;
}

template <auto kMember>
constexpr Place<decltype(value_type(kMember))> place = {member_of<kMember>, member_in<kMember>};

template <auto kMember, typename Enum = decltype(value_type(kMember))>
Words words() {
  constexpr auto all = words_of(Enum{});
  return {
      {all.begin(), all.end()},
      [](const TrainConfig& c) { return std::size_t(member_in<kMember>(c)); },
      [](TrainConfig& c, std::size_t index) { member_of<kMember>(c) = static_cast<Enum>(index); }};
}

template <auto kMember, typename Number = decltype(value_type(kMember))>
NumberIn<Number> number(const OptionRange& range = {}) {
  return {place<kMember>, range};
}

}  // namespace rueda
