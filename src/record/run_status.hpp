#pragma once

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rueda/train/run_record.hpp"

namespace rueda {

inline constexpr const char* kStatusName = "status.json";

/// How far a run is.
struct Progress {
  std::size_t epoch = 0;     ///< from 1
  std::size_t step = 0;      ///< steps done in this epoch
  std::size_t images = 0;    ///< seen in this epoch, by all ranks
  double loss = NAN;         ///< running mean of this epoch
  double seconds = 0;        ///< spent on this epoch
  std::size_t epochs = 0;    ///< 0: of no training
  std::size_t steps = 0;     ///< of an epoch
  std::string slowest = {};  ///< the rank that the others wait for; empty: none
  bool evaluates = false;    ///< after the epoch; steps are then this rank's test images
  double left = NAN;         ///< seconds of the whole run; NaN: not known
};

/// Where a run stands, as rank 0 writes it while it trains: all that `rueda watch`
/// shows. Times are seconds; moments are seconds since 1970, UTC.
struct RunStatus {
  std::string outcome = "running";  ///< as in run.json
  std::string failure;              ///< the message, if it failed
  std::string model;
  std::string all_reduce;
  std::size_t world_size = 1, global_batch = 1;
  double started_at = 0;
  double written_at = 0;
  double last_step_at = 0;   ///< or the last batch of an evaluation; 0: there was none yet
  double usual_step = NAN;   ///< seconds
  double evaluated = NAN;    ///< test images of rank 0, in the evaluation that runs; NaN: none does
  double to_evaluate = NAN;  ///< of so many
  std::string waits_for;     ///< what rank 0 is doing in the all-reduce; empty: nothing
  std::string longest_gap;   ///< between steps; empty: there is none
  Progress at;
  double val_accuracy = NAN;                    ///< of the last evaluation
  std::optional<GradientNoise> gradient_noise;  ///< of the last finished epoch
  // Mean over the steps of about the last second, and over ranks.
  PhaseSeconds phases{};
  double load_balance = NAN;        ///< docs/metrics.md
  double communication = NAN;       ///< communication efficiency
  std::size_t rank_stride = 1;      ///< the lists below have every `rank_stride`-th rank
  std::vector<std::string> hosts;   ///< of each
  std::vector<double> useful;       ///< of each: seconds of a step without waiting for others
  std::vector<std::size_t> images;  ///< of each: in a full step
  std::string checkpoint;           ///< path of the last one; empty: none
  std::string audit;                ///< what it found; empty: none is wanted
  double joules = NAN;              ///< of the finished epochs' steps
};

/// Notices a rank that keeps the others waiting: the slowest one of several
/// steps in a row, more than 10 % above the median of the others, in its time of
/// a step and in that of an image: a rank with more images is not slow.
class SlowRank {
 public:
  struct Streak {
    std::size_t slot = 0;
    std::size_t steps = 0;
    double excess = 0;  ///< mean of time / median of the others - 1, the lesser of the two
  };
  /// Seconds of a step without waiting, and images of a full step, of each.
  void add(const std::vector<double>& useful, const std::vector<std::size_t>& images);
  /// The streak that lasts.
  std::optional<Streak> now() const { return found(current_); }
  /// The longest since the last call.
  std::optional<Streak> take_longest() { return found(std::exchange(longest_, {})); }

 private:
  static std::optional<Streak> found(const Streak& streak) {
    return streak.steps >= 3 ? std::optional(streak) : std::nullopt;
  }
  Streak current_, longest_;
};

/// For how long a status has not changed, by the reader's own steady clock. The
/// moments in a status are of another machine's clock and say nothing here.
class StatusSilence {
 public:
  /// Seconds after which a run that lives would have written: twice its longest interval.
  static constexpr double kLate = 10;
  /// A look at `content` at `moment`, in steady seconds. Returns the seconds since
  /// this content was seen first.
  double look(const std::string& content, double moment) {
    if (content != content_) {
      changed_ = !content_.empty();
      content_ = content;
      since_ = moment;
    }
    return moment - since_;
  }
  /// Whether the content has changed since the first look: the run lives.
  bool changed() const { return changed_; }

 private:
  std::string content_;
  double since_ = 0;
  bool changed_ = false;
};

/// As status.json holds it, on one line.
std::string to_json(const RunStatus& status);

/// Throws InputError naming file and remedy where there is none or it is not whole.
RunStatus read_status(const std::filesystem::path& run_directory);

}  // namespace rueda
