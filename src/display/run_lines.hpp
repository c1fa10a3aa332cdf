#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rueda/train/config.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

/// The ranks of a run as a table, each line indented by `indent`: one per rank up to eight ranks;
/// beyond, one per host and kind of rank, and where those are more than eight, one per kind. The
/// device is a column only where ranks differ in it, or where it is a GPU: then with the beginning
/// of its UUID.
std::string rank_lines(const std::vector<RankInfo>& ranks, std::size_t indent);

bool same_device(const std::vector<RankInfo>& ranks);

/// How many different hosts there are.
std::size_t host_count(const std::vector<RankInfo>& ranks);

/// Who makes the batches of a run, in a few words that begin with the mode.
std::string input_mode_text(const TrainConfig& config);

/// For whoever reads the figures of a run of the timed backend, which `run.timed` is about.
std::string timed_text(const RunRecord& run);

}  // namespace rueda
