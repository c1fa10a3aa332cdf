#pragma once

#include <memory>
#include <string>
#include <vector>

#include "entries.hpp"
#include "stage.hpp"

namespace rueda::bench {

/// An entry that can be measured here.
struct Entrant {
  std::string name;
  std::unique_ptr<AllReduce> reduce;
};

struct Field {
  std::vector<Entrant> entrants;
  std::vector<std::pair<std::string, std::string>> left_out;  ///< name, why
};

/// Collective: `settings` for one all-reduce, or why it is not to be had here, the same on all
/// ranks.
std::unique_ptr<AllReduce> try_all_reduce(Stage& stage, const ReduceSettings& settings,
                                          std::string& refusal);

/// Collective: makes them all. `common` says what they share. Throws InputError for one that is not
/// to be had here, unless all were asked for.
Field make_field(Stage& stage, const Entries& entries, const ReduceSettings& common);

}  // namespace rueda::bench
