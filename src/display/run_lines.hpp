#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rueda/train/config.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

/// The ranks of a run as a table, indented by `indent`: a line per rank up to eight ranks, else a
/// line per host and kind of rank, or per kind where that makes more than eight lines. The device
/// is a column only where ranks differ in it, or where it is a GPU: then with the beginning of its
/// UUID.
std::string rank_lines(const std::vector<RankInfo>& ranks, std::size_t indent);

bool same_device(const std::vector<RankInfo>& ranks);

/// How many different hosts there are.
std::size_t host_count(const std::vector<RankInfo>& ranks);

/// The input mode of a run, and which threads make its batches.
std::string input_mode_text(const TrainConfig& config);

/// A warning for readers of a run of the timed backend: what was timed, and that nothing was
/// computed.
std::string timed_text(const RunRecord& run);

}  // namespace rueda
