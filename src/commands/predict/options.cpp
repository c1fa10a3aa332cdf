#include "options.hpp"

#include <cmath>

#include "commands/bench/sizes.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/text.hpp"
#include "rueda/predict/quantities.hpp"

namespace rueda {
namespace {

using predict::parse_rate;
using predict::parse_seconds;
using predict::parse_share;

constexpr std::size_t kMostImages = 1'000'000'000;
constexpr double kMostBucketMb = 1e6;

void read_time(const char* option, const std::string& text, std::optional<double>& to) {
  if (!text.empty()) to = parse_seconds(option, text);
}

void read_rate(const char* option, const std::string& text, std::optional<double>& to) {
  if (!text.empty()) to = parse_rate(option, text);
}

void read_given(PredictOptions& o) {
  read_time("--alpha", o.alpha, o.given.alpha);
  read_rate("--bandwidth", o.bandwidth, o.given.bandwidth);
  read_time("--inside-alpha", o.inside_alpha, o.given.inside_alpha);
  read_rate("--inside-bandwidth", o.inside_bandwidth, o.given.inside_bandwidth);
  read_rate("--add-rate", o.add_rate, o.given.add_rate);
  read_time("--compute", o.compute, o.given.step_seconds);
  read_time("--fixed", o.fixed, o.given.fixed);
  if (!o.message_noise.empty()) {
    o.given.message_noise = parse_share("--message-noise", o.message_noise);
    if (*o.given.message_noise > 1) throw InputError("--message-noise must be from 0 to 100%");
  }
  o.given.batch = o.batch_per_rank;
}

void read_target(PredictOptions& o) {
  o.target = {o.model, o.image_size, o.ranks_per_node, o.links_per_node, o.bucket_mb};
  if (o.bucket_mb && !(*o.bucket_mb >= 0 && *o.bucket_mb <= kMostBucketMb)) {
    throw InputError("--bucket-mb must be from 0 to 1000000");
  }
  if (o.links_per_node < 1) throw InputError("--links-per-node must be 1 or more");
  const bool inside = !o.inside_alpha.empty() || !o.inside_bandwidth.empty();
  if (inside && o.ranks_per_node == 0) {
    throw InputError(
        "--inside-alpha and --inside-bandwidth are of the links within a node: give "
        "--ranks-per-node, too");
  }
}

/// "1:13.6s" for an epoch on one rank.
predict::MeasuredEpoch measured_epoch(const std::string& word) {
  const std::size_t colon = word.find(':');
  if (colon == std::string::npos) {
    throw InputError("--measured '" + printable(word) +
                     "': give epoch times by number of ranks, as 1:13.6s,2:8.1s");
  }
  const auto ranks = predict::parse_rank_list("--measured", word.substr(0, colon));
  const double seconds = parse_seconds("--measured", word.substr(colon + 1));
  if (!(seconds > 0)) throw InputError("--measured '" + printable(word) + "': no time at all");
  return {ranks.front(), seconds};
}

void check_batch(const PredictOptions& o) {
  if (o.batch_per_rank > 0 && o.global_batch > 0) {
    throw InputError("--batch-per-rank and --global-batch exclude each other: give one of the two");
  }
  if (o.batch_per_rank > kMostImages || o.global_batch > kMostImages || o.images > kMostImages) {
    throw InputError("batches and --images must be at most 1000000000");
  }
  if (!o.compute.empty() && o.batch_per_rank == 0) {
    throw InputError("--compute is the time of a step of --batch-per-rank images: give that, too");
  }
}

void check_fit_ranks(PredictOptions& o) {
  if (!o.fit_rank_words.empty()) {
    o.fit_ranks = predict::parse_rank_list("--fit-ranks", o.fit_rank_words);
  } else if (o.cross_validate) {
    o.fit_ranks = {1, 2};
  }
}

}  // namespace

const char* to_string(OverlapChoice choice) {
  if (choice == OverlapChoice::on) return "on";
  return choice == OverlapChoice::off ? "off" : "auto";
}

void settle(PredictOptions& o) {
  o.ranks = predict::parse_rank_list("--ranks", o.rank_words);
  check_fit_ranks(o);
  check_batch(o);
  read_given(o);
  read_target(o);
  o.changes = predict::parse_changes(o.what_if);
  if (!o.measured.empty()) {
    for (const std::string& word : bench::split_words(o.measured)) {
      o.epochs.push_back(measured_epoch(word));
    }
  }
  if (o.cross_validate && o.runs.empty()) {
    throw InputError("--cross-validate needs runs to predict: give their directories");
  }
  for (const auto& [option, value] : {std::pair{"--price", o.price}, {"--watts", o.watts}}) {
    if (value && !(*value >= 0)) throw InputError(std::string(option) + " must be 0 or more");
  }
  o.costs = {o.price, o.watts, parse_share("--efficiency", o.least_efficiency)};
}

}  // namespace rueda
