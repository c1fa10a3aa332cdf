#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/ranges.h>

#include "base/split.hpp"
#include "base/statistics.hpp"
#include "base/text.hpp"
#include "display/run_text.hpp"
#include "display/text.hpp"
#include "record/run_pace.hpp"
#include "train/balance.hpp"

namespace rueda {
namespace {

constexpr std::size_t kRowRanks = 64;
constexpr std::size_t kGroupRanks = 8;
constexpr std::size_t kNamedRanks = 48;  // the most of a row that also shows the host
constexpr std::size_t kMostRows = 16;

/// Seconds from step to step that the end of an epoch or a checkpoint may take.
constexpr double kBetween = 3;

/// How far a rank is above the median, and how that is shown.
struct Heat {
  double most;
  char sign;
  int colour;  ///< of 256
};
constexpr std::array kHeat = {Heat{0.05, '.', 28}, Heat{0.1, '-', 70}, Heat{0.2, '+', 178},
                              Heat{0.5, '#', 208}, Heat{INFINITY, '@', 160}};

/// Of a terminal.
struct Look {
  bool colours;
  std::size_t columns;
};

std::string moment(double seconds) {
  const auto whole = std::time_t(seconds);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", *std::localtime(&whole));
}

/// How long a run may be without a step before that is worth a word.
double patience_with(const RunStatus& s) {
  // Before there is a usual step, the first one may take long.
  if (std::isnan(s.usual_step)) return StatusSilence::kLate;
  return std::max(kBetween, gap_limit(s.usual_step));
}

/// Whether steps come, and if not, since when.
std::string state_text(const RunStatus& s, double silent) {
  if (s.outcome != "running") {
    std::string text = s.outcome + " at " + moment(s.written_at);
    if (!s.failure.empty()) text += ": " + s.failure;
    return text;
  }
  if (silent >= StatusSilence::kLate)
    return fmt::format(
        "nothing came for {:.0f} s: killed, or its machine or disk hangs; the last at {} by the "
        "clock of rank 0",
        silent, moment(s.written_at));
  const double last = std::max(s.last_step_at, s.started_at);
  const double without_step = s.written_at - last;
  if (!(without_step > patience_with(s))) return "running since " + moment(s.started_at);
  const char* what = std::isnan(s.evaluated) ? "step" : "batch of the evaluation";
  std::string text = fmt::format("no {} since {} ({:.0f} s)", what, moment(last), without_step);
  if (!s.waits_for.empty()) text += ": " + s.waits_for;
  return text;
}

/// As it is where it fits, else folded.
std::string fitted(const std::string& line, std::size_t columns) {
  if (columns_of(line) <= columns) return line + "\n";
  const std::size_t indent = line.find_first_not_of(' ');
  return paragraph("", indent, line, columns);
}

std::string step_text(const RunStatus& s, std::size_t columns) {
  Texts phases;
  for (std::size_t p = 0; p < kPhases; ++p)
    phases.push_back(fmt::format("{} {:.1f}", kPhaseNames[p], 1e3 * s.phases[p]));
  return paragraph("  ms per step", 15, fmt::format("{}", fmt::join(phases, ", ")), columns) +
         fitted(
             fmt::format("  parallel efficiency {:.1f} % = load balance {:.1f} % x communication "
                         "{:.1f} %",
                         100 * s.load_balance * s.communication, 100 * s.load_balance,
                         100 * s.communication),
             columns);
}

std::string cell(double useful, double median, bool colours) {
  for (const auto& [most, sign, colour] : kHeat) {
    if (!(useful / median - 1 <= most)) continue;
    if (!colours) return {sign};
    return fmt::format("\x1b[30;48;5;{}m{}\x1b[0m", colour, sign);
  }
  return "?";
}

/// What a row needs: the number of its first rank, and `ranks` cells in groups.
constexpr std::size_t row_columns(std::size_t ranks) { return 6 + ranks + ranks / kGroupRanks; }

/// The most ranks of a row that fit, in whole groups.
std::size_t row_ranks(std::size_t columns) {
  std::size_t ranks = kRowRanks;
  while (ranks > kGroupRanks && row_columns(ranks) > columns) ranks -= kGroupRanks;
  return ranks;
}

/// Rows of the ranks from `begin` to `end`, named after the first one.
std::string strip(const RunStatus& s, Range ranks, const std::string& host, const Look& look) {
  const double median = median_of(s.useful);
  const std::size_t most = row_ranks(look.columns);
  std::string text;
  for (std::size_t i = ranks.begin; i < ranks.end; ++i) {
    const std::size_t column = (i - ranks.begin) % most;
    if (column == 0 && i > ranks.begin) text += '\n';
    if (column == 0) text += fmt::format("{:>5} ", i * s.rank_stride);
    if (column % kGroupRanks == 0) text += ' ';
    text += cell(s.useful[i], median, look.colours);
  }
  if (host.empty()) return text + "\n";
  const std::size_t used = row_columns((ranks.size() - 1) % most + kGroupRanks);
  if (used + 2 + columns_of(host) > look.columns) text += "\n     ";
  return text + "  " + host + "\n";
}

/// Whether a row for each group, with its host, fits on the screen.
bool have_own_rows(const std::vector<Range>& groups) {
  for (const Range& group : groups)
    if (group.size() > kNamedRanks) return false;
  return groups.size() <= kMostRows;
}

/// Nothing where all have the same.
std::string images_of_ranks(const RunStatus& s, std::size_t columns) {
  if (s.images.empty()) return "";
  const auto [least, most] = std::ranges::minmax(s.images);
  if (most - least <= 1) return "";  // what does not divide evenly
  return fitted("  images per rank " + images_text(s.images), columns);
}

std::string ranks_text(const RunStatus& s, const Look& look) {
  std::vector<Range> groups;  // neighbours of one host
  for (std::size_t i = 0; i < s.hosts.size(); ++i) {
    if (i == 0 || s.hosts[i] != s.hosts[i - 1]) groups.push_back({i, i});
    groups.back().end = i + 1;
  }
  std::string text = "  ranks, useful time over the median: . to 5 %, - 10, + 20, # 50, @ more";
  if (s.rank_stride > 1) text += fmt::format("; every {}th", s.rank_stride);
  text = fitted(text, look.columns);
  if (!have_own_rows(groups)) return text + strip(s, {0, s.hosts.size()}, "", look);
  for (const Range& group : groups) text += strip(s, group, s.hosts[group.begin], look);
  return text;
}

/// What has a line only where there is something to say.
std::string remarks(const RunStatus& s, const std::string& slowest, std::size_t columns) {
  std::string text;
  const std::string noise = noise_text(s.gradient_noise, s.world_size);
  if (!noise.empty()) text += paragraph("  noise scale", 15, noise, columns);
  if (!slowest.empty()) text += fitted("  slow: " + slowest, columns);
  if (!s.longest_gap.empty()) text += paragraph("  longest gap", 15, s.longest_gap, columns);
  if (!s.audit.empty()) text += fitted("  audit: " + s.audit, columns);
  if (!s.checkpoint.empty()) text += fitted("  checkpoint: " + s.checkpoint, columns);
  return text;
}

}  // namespace

std::string status_text(const RunStatus& status, double silent, bool colours, std::size_t columns) {
  RunStatus s = status;
  for (std::string* text : {&s.outcome, &s.failure, &s.model, &s.all_reduce, &s.waits_for,
                            &s.at.slowest, &s.longest_gap, &s.audit, &s.checkpoint})
    *text = escaped(*text);
  for (std::string& host : s.hosts) host = escaped(host);
  std::string text =
      fitted(fmt::format("{}, {}, {}, global batch {}", s.model, counted(s.world_size, "rank"),
                         s.all_reduce, s.global_batch),
             columns) +
      fitted(state_text(s, silent), columns);
  const std::string slowest = std::exchange(s.at.slowest, "");  // has a line of its own
  const double left = std::exchange(s.at.left, NAN);
  if (!std::isnan(s.evaluated)) {
    s.at = {.epoch = s.at.epoch,
            .step = std::size_t(s.evaluated),
            .epochs = s.at.epochs,
            .steps = std::size_t(s.to_evaluate),
            .evaluates = true};
  }
  text += "  " + progress_text(s.at, int(std::min(columns, kPageColumns)) - 2) + "\n";
  std::string rest = " ";
  if (left >= 0 && s.outcome == "running") rest += " " + clock_text(left) + " left in all";
  if (!std::isnan(s.val_accuracy)) rest += "  val_accuracy " + metric_text(s.val_accuracy);
  if (!std::isnan(s.joules)) rest += "  " + rate_text(s.joules) + " J";
  if (rest.size() > 1) text += fitted(rest, columns);
  if (!std::isnan(s.load_balance))
    text += step_text(s, columns) + ranks_text(s, {colours, columns}) + images_of_ranks(s, columns);
  return text + remarks(s, slowest, columns);
}

std::string audit_text(const RunRecord& run) {
  if (run.config.checks.audit_every == 0) return "";
  std::string steps = counted(run.audit.steps, "step");
  if (run.config.checks.audit_by == AuditBy::self) steps += ", each rank by itself";
  if (run.audit.findings.empty()) return steps + ", no wrong arithmetic";
  return steps + ", " + counted(run.audit.findings.size(), "finding");
}

}  // namespace rueda
