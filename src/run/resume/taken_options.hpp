#pragma once

#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/config.hpp"
#include "run/resume/resume_point.hpp"

namespace rueda {

/// The options of an earlier run, from which those follow that are not given anew.
struct EarlierOptions {
  const nlohmann::ordered_json& options;  ///< see recorded_options
  std::string source;                     ///< what messages call the run
  std::string folder;                     ///< in which it was started; empty: not known
};

/// What takes them over.
enum class TakenBy { training, evaluation };

/// Gives the options that `config` was not given their values of an earlier run.
/// Throws InputError naming the run where it used what was removed since, where
/// its data are gone, and where a value is of the wrong form.
void take_options(TrainConfig& config, const EarlierOptions& earlier, TakenBy by);

/// The same of the run that wrote a checkpoint.
void take_options(TrainConfig& config, const ResumePoint& point, const CheckpointPlace& place,
                  TakenBy by);

/// Completes `config` from the checkpoint that --resume means, and checks it. Reads the disk.
/// Returns the checkpoint; an empty one where --resume means none. Throws InputError.
ResumePoint complete_by_checkpoint(TrainConfig& config);

/// Collective: rank 0 does `work`, which may change `config`, and all ranks have
/// its configuration then. Only rank 0 has to see the files that it is about.
/// What `work` throws is thrown on all ranks.
void settle_on_rank_0(RankGroup& world, TrainConfig& config, const std::function<void()>& work);

}  // namespace rueda
