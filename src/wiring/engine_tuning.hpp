#pragma once

#include <functional>
#include <map>
#include <string>

#include "open_backend.hpp"
#include "rueda/reduce/rank_group.hpp"

namespace rueda {

/// The fastest engines measured on one kind of GPU: a file of JSON.
struct Tuning {
  std::string device;                          ///< GPU name
  std::string cudnn;                           ///< version: engines are numbered anew in each
  std::map<std::string, std::string> engines;  ///< by what they compute
};

/// Throws InputError naming the file for anything but a tuning file.
Tuning parse_tuning(const std::string& text, const std::string& file);
std::string tuning_text(const Tuning& tuning);

/// Throws InputError if the tuning was made on another kind of GPU or with another cuDNN.
void check_tuning(const Tuning& tuning, const std::string& file, const std::string& device,
                  const std::string& cudnn);

/// The file's text; throws InputError if it cannot be read.
std::string read_tuning_file(const std::string& file);

/// Collective. Sets the engines of --tuning-file in `backend`, which has no plans yet. With
/// --tune-engines rank 0 measures them first: `plan` plans all that training will need on a backend
/// of rank 0's own, and rank 0 writes the file. Throws InputError alike on all ranks.
void agree_on_engines(RankGroup& world, const TrainConfig& config, const BackendOptions& options,
                      Backend& backend, const std::function<void(Backend&)>& plan);

}  // namespace rueda
