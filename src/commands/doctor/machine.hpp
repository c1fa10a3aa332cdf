#pragma once

#include "facts.hpp"
#include "mpi/session/launch_check.hpp"
#include "rueda/train/config.hpp"

namespace rueda::doctor {

/// What the environment says of the launch. `refusal` stays empty, for MPI's world is not known
/// yet.
LaunchFacts read_launch(const Environment& environment);

/// Fills `refusal`, now that MPI's world is known.
void judge_launch(LaunchFacts& launch, const Environment& environment, int size);

/// Fills share, threads and remark of all ranks from the cores of their hosts' ranks.
void share_out_cores(std::vector<RankFacts>& ranks);

/// All that a rank can know before MPI is initialised: that is when to call it, since it opens a
/// GPU.
RankFacts look_at_machine(const Environment& environment, BackendChoice backend);

/// Bytes that every rank has for training on what its backend trains on: the least over ranks of
/// the free memory, divided by the ranks that share it, less a twentieth.
std::size_t memory_per_rank(const std::vector<RankFacts>& ranks);

/// For each model at its usual image size, in fp32 and bf16, the largest batch of a rank whose
/// training fits into `bytes` on `choice`, which is planned as training plans it.
std::vector<BatchFacts> largest_batches(BackendChoice choice, std::size_t bytes, int ranks,
                                        int threads);

}  // namespace rueda::doctor
