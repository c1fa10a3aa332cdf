#include "command_options.hpp"
#include "option_helpers.hpp"

namespace rueda {
namespace {

using predict::Scheme;

void add_files(CLI::App& command, PredictOptions& o) {
  command
      .add_option("RUN_DIR", o.runs,
                  "Directories of runs, or of several, or run.json files, to fit the model to")
      ->option_text("...")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--bench", o.benches,
                  "Record of rueda bench all-reduce --json, for alpha and beta; may be repeated")
      ->option_text("FILE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  add_text(command, "--json", o.json, "FILE", "Writes all tables there");
  add_text(command, "--out", o.out, "DIR", "Writes predict.md, predict.json and a CSV each there");
}

void add_scenario(CLI::App& command, PredictOptions& o) {
  add_text(command, "--ranks", o.rank_words, "LIST", "Numbers of ranks to predict, up to 16384");
  add_text(command, "--model", o.model, "NAME", "Network, by default that of the runs");
  add_number(command, "--image-size", o.image_size, "PIXELS", "0 for that of the runs, or 32");
  add_number(command, "--batch-per-rank", o.batch_per_rank, "N",
             "Images of a rank in a step; 0 for that of the runs");
  add_number(command, "--global-batch", o.global_batch, "N",
             "Images of a step over all ranks instead");
  add_number(command, "--images", o.images, "N",
             "Images of an epoch; 0 for those of the runs, or 50000");
  add_choice(command, "--algorithm", o.scheme,
             {Scheme::ring, Scheme::hierarchical, Scheme::doubling, Scheme::best},
             "How gradients are summed");
  add_choice(command, "--overlap", o.overlap,
             {OverlapChoice::as_runs, OverlapChoice::on, OverlapChoice::off},
             "Communication during backward; auto: as in the runs");
  add_number(command, "--bucket-mb", o.bucket_mb, "MB",
             "Size of the buckets, by default that of the runs, or 25");
  add_number(command, "--ranks-per-node", o.ranks_per_node, "N",
             "Ranks joined by the links inside a node; 0: all links are of one kind");
  add_number(command, "--links-per-node", o.links_per_node, "N",
             "Messages of a node that go out at full speed at once");
}

void add_given(CLI::App& command, PredictOptions& o) {
  add_text(command, "--alpha", o.alpha, "TIME",
           "Latency of a message between nodes, instead of fitting it");
  add_text(command, "--bandwidth", o.bandwidth, "RATE",
           "Bandwidth between nodes, for example 10GB/s");
  add_text(command, "--inside-alpha", o.inside_alpha, "TIME", "Latency of a message within a node");
  add_text(command, "--inside-bandwidth", o.inside_bandwidth, "RATE", "Bandwidth within a node");
  add_text(command, "--add-rate", o.add_rate, "RATE", "Bytes that a rank adds a second");
  add_text(command, "--compute", o.compute, "TIME",
           "Compute time of a step of --batch-per-rank images on one rank, instead of runs");
  add_text(command, "--fixed", o.fixed, "TIME",
           "Part of --compute that does not depend on the batch");
  add_text(command, "--message-noise", o.message_noise, "SHARE",
           "Standard deviation of a message's time over its mean, for --simulate");
  add_text(command, "--what-if", o.what_if, "CHANGES",
           "Predicts for another machine: bandwidth, latency, inside-bandwidth, inside-latency, "
           "add-rate, "
           "compute-time, noise, each =2x or =VALUE, with commas");
}

void add_questions(CLI::App& command, PredictOptions& o) {
  command.add_flag("--simulate", o.simulate, "Simulates each message of a noisy ring");
  add_number(command, "--seed", o.seed, "N", "Seed of the noise");
  command.add_flag("--cross-validate", o.cross_validate,
                   "Fits to the runs on --fit-ranks and predicts the others");
  add_text(command, "--fit-ranks", o.fit_rank_words, "LIST",
           "Fits only to runs on these numbers of ranks; 1,2 with --cross-validate");
  add_text(command, "--measured", o.measured, "LIST",
           "Epoch times from elsewhere, as 1:13.6s,4:5.4s: explains their loss of efficiency");
  add_number(command, "--price", o.price, "AMOUNT", "Price of a rank for an hour");
  add_number(command, "--watts", o.watts, "W", "Power of a rank");
  add_text(command, "--efficiency", o.least_efficiency, "SHARE",
           "Finds the most ranks with at least this efficiency");
}

}  // namespace

void add_predict_options(CLI::App& command, PredictOptions& options) {
  add_files(command, options);
  add_scenario(command, options);
  add_given(command, options);
  add_questions(command, options);
}

}  // namespace rueda
