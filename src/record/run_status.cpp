#include "record/run_status.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "record/json_parts.hpp"

namespace rueda {
namespace {

constexpr double kSlow = 0.1;
constexpr std::size_t kStatusVersion = 1;
constexpr std::size_t kMostStatusBytes = 4'000'000;
constexpr double kMostImages = 1e12;
constexpr double kMostMoment = 1e10;  // the year 2286

const std::tuple kStatusFields{Field{"outcome", &RunStatus::outcome},
                               Field{"failure", &RunStatus::failure},
                               Field{"model", &RunStatus::model},
                               Field{"all_reduce", &RunStatus::all_reduce},
                               Field{"world_size", &RunStatus::world_size},
                               Field{"global_batch", &RunStatus::global_batch},
                               Field{"started_at", &RunStatus::started_at},
                               Field{"written_at", &RunStatus::written_at},
                               Field{"last_step_at", &RunStatus::last_step_at},
                               Field{"waits_for", &RunStatus::waits_for},
                               Field{"epoch", in(&RunStatus::at, &Progress::epoch)},
                               Field{"epochs", in(&RunStatus::at, &Progress::epochs)},
                               Field{"step", in(&RunStatus::at, &Progress::step)},
                               Field{"steps", in(&RunStatus::at, &Progress::steps)},
                               Field{"images", in(&RunStatus::at, &Progress::images)},
                               Field{"loss", in(&RunStatus::at, &Progress::loss), or_nan},
                               Field{"seconds", in(&RunStatus::at, &Progress::seconds), or_nan},
                               Field{"seconds_left", in(&RunStatus::at, &Progress::left), or_nan},
                               Field{"usual_step", &RunStatus::usual_step, or_nan},
                               Field{"evaluated", &RunStatus::evaluated, or_nan},
                               Field{"to_evaluate", &RunStatus::to_evaluate, or_nan},
                               Field{"slowest", in(&RunStatus::at, &Progress::slowest)},
                               Field{"val_accuracy", &RunStatus::val_accuracy, or_nan},
                               Field{"load_balance", &RunStatus::load_balance, or_nan},
                               Field{"communication", &RunStatus::communication, or_nan},
                               Field{"rank_stride", &RunStatus::rank_stride},
                               Field{"hosts", &RunStatus::hosts},
                               Field{"useful", &RunStatus::useful},
                               Field{"images_per_rank", &RunStatus::images, if_any},
                               Field{"checkpoint", &RunStatus::checkpoint},
                               Field{"longest_gap", &RunStatus::longest_gap, if_any},
                               Field{"audit", &RunStatus::audit},
                               Field{"joules", &RunStatus::joules, or_nan},
                               Field{"gradient_noise", &RunStatus::gradient_noise, if_any}};

}  // namespace

void SlowRank::add(const std::vector<double>& useful, const std::vector<std::size_t>& images) {
  if (useful.size() < 2) return;
  const auto slot = std::size_t(std::ranges::max_element(useful) - useful.begin());
  std::vector<double> of_image = useful;
  for (std::size_t i = 0; i < useful.size(); ++i)
    of_image[i] /= double(std::max<std::size_t>(1, images.at(i)));
  const auto excess_in = [slot](const std::vector<double>& seconds) {
    return seconds[slot] / median_of_others(seconds, slot) - 1;
  };
  const double excess = std::min(excess_in(useful), excess_in(of_image));
  if (!(excess > kSlow) || current_.slot != slot) current_ = {.slot = slot};
  if (!(excess > kSlow)) return;
  current_.excess += (excess - current_.excess) / double(++current_.steps);
  if (current_.steps > longest_.steps) longest_ = current_;
}

std::string to_json(const RunStatus& status) {
  Json j = {{"schema", "rueda-status"}, {"schema_version", kStatusVersion}};
  put_fields(j, status, kStatusFields);
  j["phases"] = phases_json(status.phases);
  return text_of(j) + "\n";
}

RunStatus read_status(const std::filesystem::path& run_directory) {
  const std::filesystem::path path = run_directory / kStatusName;
  const InputFile file{path, path.string(), "give the directory of a run that has begun to train"};
  const Json json = read_json(file, kMostStatusBytes);
  JsonView(json, file).require_schema("rueda-status", kStatusVersion, "status.json");
  const JsonView j(json);
  RunStatus status;
  try {
    read_fields(j, status, kStatusFields);
    for (std::size_t p = 0; p < kPhases; ++p)  // an object: no list that had to be counted
      status.phases[p] = j.at("phases").number_if_any(std::string(kPhaseNames[p]));
  } catch (const InputError&) {
    file.refuse("it is not whole");
  }
  const auto absurd = [](double moment) { return !(moment >= 0 && moment < kMostMoment); };
  const auto moments = {status.started_at, status.written_at, status.last_step_at};
  const bool fits = status.hosts.size() == status.useful.size() && status.world_size > 0 &&
                    status.rank_stride > 0 && status.useful.size() <= status.world_size &&
                    status.images.size() <= status.world_size &&
                    status.at.epoch <= status.at.epochs && status.at.step <= status.at.steps &&
                    !(status.evaluated < 0 || status.evaluated > status.to_evaluate ||
                      status.to_evaluate > kMostImages);
  if (!fits || std::ranges::any_of(moments, absurd)) file.refuse("its numbers are absurd");
  return status;
}

}  // namespace rueda
