#include "commands/bench/bench.hpp"
#include "predict.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/text.hpp"
#include "rueda/predict/quantities.hpp"

namespace rueda {
namespace {

using predict::parse_seconds;
using predict::parse_share;

constexpr std::size_t kMostImages = 1'000'000'000;
constexpr double kMostBucketMb = 1e6;

void require(bool holds, const std::string& otherwise) {
  if (!holds) throw InputError(otherwise);
}

void check_machine(const PredictOptions& o) {
  const predict::Given& given = o.given;
  require(given.message_noise.value_or(0) <= 1, "--message-noise must be from 0 to 100%");
  const double bucket_mb = o.target.bucket_mb.value_or(0);
  require(bucket_mb >= 0 && bucket_mb <= kMostBucketMb, "--bucket-mb must be from 0 to 1000000");
  require(o.target.links_per_node >= 1, "--links-per-node must be 1 or more");
  require(o.target.ranks_per_node > 0 || (!given.inside_alpha && !given.inside_bandwidth),
          "--inside-alpha and --inside-bandwidth are of the links within a node: give "
          "--ranks-per-node, too");
}

/// "1:13.6s" for an epoch on one rank.
predict::MeasuredEpoch measured_epoch(const std::string& word) {
  const std::size_t colon = word.find(':');
  require(colon != std::string::npos,
          "--measured '" + printable(word) +
              "': give epoch times by number of ranks, as 1:13.6s,2:8.1s");
  const auto ranks = predict::parse_rank_list("--measured", word.substr(0, colon));
  const double seconds = parse_seconds("--measured", word.substr(colon + 1));
  require(seconds > 0, "--measured '" + printable(word) + "': the time must be above 0");
  return {ranks.front(), seconds};
}

void check_batch(const PredictOptions& o) {
  require(o.batch_per_rank == 0 || o.global_batch == 0,
          "--batch-per-rank and --global-batch exclude each other: give one of the two");
  require(
      o.batch_per_rank <= kMostImages && o.global_batch <= kMostImages && o.images <= kMostImages,
      "batches and --images must be at most 1000000000");
  require(!o.given.step_seconds || o.batch_per_rank > 0,
          "--compute is the time of a step of --batch-per-rank images: give that, too");
}

}  // namespace

const char* to_string(OverlapChoice choice) {
  if (choice == OverlapChoice::on) return "on";
  return choice == OverlapChoice::off ? "off" : "auto";
}

void validate(PredictOptions& o) {
  o.ranks = predict::parse_rank_list("--ranks", o.rank_words);
  if (o.cross_validate) o.fit_ranks = {1, 2};
  if (!o.fit_rank_words.empty())
    o.fit_ranks = predict::parse_rank_list("--fit-ranks", o.fit_rank_words);
  check_batch(o);
  check_machine(o);
  o.given.batch = o.batch_per_rank;
  o.changes = predict::parse_changes(o.what_if);
  if (!o.measured.empty()) {
    for (const std::string& word : bench::split_words(o.measured))
      o.epochs.push_back(measured_epoch(word));
  }
  require(!o.cross_validate || !o.runs.empty(),
          "--cross-validate needs runs to predict: give their directories");
  for (const auto& [option, value] :
       {std::pair{"--price", o.costs.per_rank_hour}, {"--watts", o.costs.watts}})
    require(value.value_or(0) >= 0, std::string(option) + " must be 0 or more");
  o.costs.least_efficiency = parse_share("--efficiency", o.least_efficiency);
}

}  // namespace rueda
