#include "recorded_compute.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include <nlohmann/json.hpp>

#include "rueda/core/error.hpp"
#include "rueda/core/printable.hpp"
#include "rueda/report/run_json.hpp"
#include "rueda/report/statistics.hpp"

namespace rueda {
namespace {

using Json = nlohmann::json;
using Row = std::map<std::string, double>;  // column by name

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw InputError("--compute-from " + file + ": " + why +
                   "; name the run.json of a run that computed with this --model and --image-size");
}

Json read_run(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) refuse(file, "it cannot be opened");
  const Json json = Json::parse(stream, nullptr, false);
  if (!json.is_object() || json.value("schema", Json()) != "rueda-run") refuse(file, "no run.json");
  return json;
}

/// Images of a full step.
double check_run(const Json& run, const std::string& file, const std::string& model,
                 int image_size) {
  try {
    if (run.at("config").at("backend") == "timed") refuse(file, "that run computed nothing itself");
    const std::string name = run.at("model").at("name");
    const int size = run.at("model").at("image_size");
    if (name != model || size != image_size) {
      refuse(file, "it is of " + printable(name) + " for " + std::to_string(size) +
                       " pixels, not " + model + " for " + std::to_string(image_size));
    }
    return run.at("batch").at("global");
  } catch (const Json::exception&) {
    refuse(file, "it is not complete");
  }
}

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> result;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) result.push_back(cell);
  return result;
}

std::vector<Row> read_steps(const std::string& file) {
  std::ifstream stream(std::filesystem::path(file).parent_path() / kStepsCsvName);
  std::string line;
  if (!std::getline(stream, line)) {
    refuse(file, std::string("there is no ") + kStepsCsvName + " beside it");
  }
  const auto names = cells(line);
  std::vector<Row> rows;
  while (std::getline(stream, line)) {
    const auto values = cells(line);
    Row row;
    for (std::size_t i = 0; i < std::min(names.size(), values.size()); ++i) {
      row[names[i]] = std::strtod(values[i].c_str(), nullptr);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

double value(const Row& row, const std::string& file, const char* name) {
  const auto found = row.find(name);
  if (found != row.end() && std::isfinite(found->second)) return found->second;
  refuse(file, std::string("its ") + kStepsCsvName + " does not tell " + name + " of every step");
}

}  // namespace

double recorded_image_seconds(const std::string& file, const std::string& model, int image_size) {
  const double global_batch = check_run(read_run(file), file, model, image_size);
  const auto rows = read_steps(file);
  const bool several = !rows.empty() && value(rows.back(), file, "epoch") > 1;
  std::vector<double> seconds;
  for (const Row& row : rows) {
    const double images = value(row, file, "samples");
    if (value(row, file, "global_samples") != global_batch || images == 0) continue;
    if (several && value(row, file, "epoch") == 1) continue;
    double sum = 0;
    for (const char* phase : {"forward", "loss", "backward"}) sum += value(row, file, phase);
    seconds.push_back(sum / images);
  }
  if (seconds.empty()) refuse(file, "it has no full step");
  const double median = median_of(seconds);
  if (median <= 0) refuse(file, "its steps took no time");
  return median;
}

}  // namespace rueda
