// Steps of training on clusters that are not there. For each number of ranks and each way to sum
// it prints a line of JSON; jobs/check/simulated_cluster.py makes pictures and tables of these.

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "backend/bucket_schedule.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/split.hpp"
#include "model/registry.hpp"
#include "run/wiring/reduce_rule.hpp"
#include "tests/simulation/virtual_job.hpp"

using namespace rueda;

namespace {

struct Options {
  std::string model = "resnet18";
  int image_size = 32;
  std::vector<std::size_t> ranks = {64, 256, 1024, 4096};
  std::vector<std::string> algorithms = {"ring", "doubling", "auto"};
  double bucket_mb = 25;
  double compute = 20e-3;
  double update = 0.5e-3;
  bool no_overlap = false;
  cost::Machine machine{{5e-6, 1 / 20e9}, {20e-6, 1 / 12e9}, 1 / 20e9, 1, 1};
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("--model", options.model, "network");
  app.add_option("--image-size", options.image_size, "pixels");
  app.add_option("--ranks", options.ranks, "numbers of ranks")->delimiter(',');
  app.add_option("--all-reduce", options.algorithms, "ways to sum")->delimiter(',');
  app.add_option("--bucket-mb", options.bucket_mb, "most that a bucket has, MB");
  app.add_option("--compute", options.compute, "seconds of forward and backward");
  app.add_option("--update", options.update, "seconds of the rest of a step");
  app.add_flag("--no-overlap", options.no_overlap, "sums begin after backward");
  app.add_option("--ranks-per-node", options.machine.ranks_per_node);
  app.add_option("--links-per-node", options.machine.links_per_node);
  app.add_option("--alpha", options.machine.between.alpha, "seconds of a message between nodes");
  app.add_option("--beta", options.machine.between.beta, "seconds of a byte of it");
  app.add_option("--alpha-inside", options.machine.inside.alpha, "the same within a node");
  app.add_option("--beta-inside", options.machine.inside.beta);
  app.add_option("--gamma", options.machine.gamma, "seconds of a byte that is added");
}

ReduceTable table_for(const std::string& word, const Options& options, std::size_t ranks) {
  constexpr auto words = words_of(Algorithm{});
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) throw InputError("no way to sum is called " + word);
  const auto algorithm = Algorithm(found - words.begin());
  if (algorithm != Algorithm::automatic) return {.rows = {{.way = {algorithm, 0}}}};
  const std::size_t local = std::min(options.machine.ranks_per_node, ranks);
  return reduce_rule(
      {.ranks = int(ranks), .hosts = int(pieces(ranks, local)), .most_on_a_host = int(local)},
      options.machine);
}

void print_step(const Options& options, std::size_t ranks, const std::string& algorithm) {
  const Graph graph = build_model(options.model, options.image_size, 10);
  const auto most = std::size_t(options.bucket_mb * 1e6);
  test::VirtualStep step{.buckets = cost::bucket_schedule(graph, most),
                         .forward = options.compute / 3,
                         .backward = options.compute * 2 / 3,
                         .update = options.update,
                         .overlap = !options.no_overlap};
  const Stopwatch watch;
  test::VirtualJob job({options.machine, int(ranks)});
  const auto times = job.step(table_for(algorithm, options, ranks), step);
  const nlohmann::ordered_json line = {
      {"model", options.model},
      {"ranks", ranks},
      {"all_reduce", algorithm},
      {"step_seconds", times.seconds},
      {"efficiency", (options.compute + options.update) / times.seconds},
      {"messages", times.messages},
      {"bytes", times.bytes},
      {"simulated_in_seconds", watch.seconds()}};
  std::cout << line << std::endl;  // each as soon as it is there: large ones take minutes
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Steps of training on simulated clusters.");
  Options options;
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    for (const std::size_t ranks : options.ranks)
      for (const auto& algorithm : options.algorithms) print_step(options, ranks, algorithm);
  } catch (const std::exception& error) {
    std::cerr << "simulated-cluster: " << error.what() << '\n';
    return 1;
  }
}
