#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "study/logged_run.hpp"

namespace rueda {

/// A log, and what is known of its runs without it: wins over what it says, for all of them.
struct KerasLog {
  std::filesystem::path file;
  std::string model;             ///< empty: as the log says
  std::size_t ranks = 0;         ///< 0: as the log says, else 1
  std::size_t global_batch = 0;  ///< 0: as the log says
  std::size_t image_size = 0;    ///< pixels; 0: unknown
  std::size_t images = 0;        ///< in the data set; 0: 50,000, if steps and batch allow that
  std::optional<Processor> processor;  ///< none: gpu if the log mentions one
};

/// "FILE[,model=NAME][,ranks=P][,batch=GLOBAL][,images=N][,size=PIXELS][,processor=cpu|gpu]".
/// Throws InputError if a value is not one.
KerasLog parse_keras_log_option(const std::string& text);

/// The runs in what Keras' fit() printed (verbose 1 or 2, TensorFlow 1 to Keras 3), or in rueda's
/// own lines. Runs begin where epochs count from 1 again or a header ("Model ResNet50 2 GPUs",
/// "Batch_size: 4096", "Num_replicas: 2") stands; whatever else is in the file is passed over, as
/// are evaluations. Times with val_ figures include validation, and `variant` says so. Throws
/// InputError naming the file and the remedy if it is no file, larger than 1 GB, has more than
/// 100,000 epochs or none, or if images, steps and batch contradict each other.
std::vector<LoggedRun> read_logged_runs(const KerasLog& log);

/// The same as observations.
std::vector<Observation> read_keras_log(const KerasLog& log);

}  // namespace rueda
