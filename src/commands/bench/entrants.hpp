#pragma once

#include <memory>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "entries.hpp"
#include "measure.hpp"
#include "stage.hpp"

namespace rueda::bench {

/// An all-reduce that can be measured here.
struct Entrant {
  std::string name;
  std::unique_ptr<AllReduce> reduce;
  std::unique_ptr<Buffer> arena = {};  ///< memory of its own that it sums; null: any will do
};

/// With the memory that `reduce` has of its own, if it has.
Entrant make_entrant(Stage& stage, const std::string& name, std::unique_ptr<AllReduce> reduce);

/// `entrant` for a slice of `floats`, which lies in `common` unless it has memory of its own.
Contestant contestant_of(const Entrant& entrant, Buffer& common, std::size_t floats);

struct Field {
  std::vector<Entrant> entrants;
  std::vector<std::pair<std::string, std::string>> left_out;  ///< name, why
};

/// Collective: `settings` for one all-reduce of slices up to `floats`, or why it is not to be had
/// here, the same on all ranks.
std::unique_ptr<AllReduce> try_all_reduce(Stage& stage, const ReduceSettings& settings,
                                          std::size_t floats, std::string& refusal);

/// Collective: makes them all. `common` says what they share. Throws InputError for one that is not
/// to be had here, unless all were asked for.
Field make_field(Stage& stage, const Entries& entries, const ReduceSettings& common,
                 std::size_t floats);

}  // namespace rueda::bench
