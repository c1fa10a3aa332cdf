#pragma once

#include <map>
#include <string>

namespace rueda {

/// By what they compute.
using Engines = std::map<std::string, std::string>;

/// The fastest engines measured on one kind of GPU: a file of JSON.
struct Tuning {
  std::string device;  ///< GPU name
  std::string cudnn;   ///< version: engines are numbered anew in each
  Engines engines;
  /// Seconds of each engine that was timed, by work and engine. For people: it decides nothing.
  std::map<std::string, std::map<std::string, double>> seconds = {};
  /// The same of launches in an execution. Work without them was timed by older versions, launch by
  /// launch from the host and from memory, in place of in a CUDA graph.
  std::map<std::string, std::map<std::string, int>> launches = {};
};

/// Throws InputError naming the file for anything but a tuning file.
Tuning parse_tuning(const std::string& text, const std::string& file);
std::string tuning_text(const Tuning& tuning);

/// Throws InputError if the tuning was made on another kind of GPU or with another cuDNN.
void check_tuning(const Tuning& tuning, const std::string& file, const std::string& device,
                  const std::string& cudnn);

/// The file's text; throws InputError if it cannot be read.
std::string read_tuning_file(const std::string& file);

}  // namespace rueda
