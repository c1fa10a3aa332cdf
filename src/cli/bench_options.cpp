#include "cli/options.hpp"

namespace rueda {
namespace {

void add_setup(CLI::App& command, TrainConfig& train) {
  add_option(command, plain_option("backend", "Device whose memory holds the numbers"), train);
  for (const char* name : {"transport", "wire", "threads", "allow-shared-gpu"})
    add_option(command, shared_option(name), train);
}

void add_all_reduce(CLI::App& bench, Request& request) {
  CLI::App& command =
      add_command(bench, "all-reduce",
                  "Times the all-reduces and checks every sum; launch it as you launch train",
                  "  mpirun -n 2 rueda bench all-reduce\n"
                  "  mpirun -n 4 rueda bench all-reduce --sizes 64k,resnet18 --json a.json");
  auto& options = options_of<BenchAllReduceOptions>(command, request);
  add_text(command, "--sizes", options.size_words, "LIST",
           "Sizes to sum, in bytes, or as the name of a network for its gradients [4 to 256M and "
           "three networks]");
  add_number(command, "--classes", options.classes, "N", "Classes of the networks in --sizes");
  add_text(command, "--algorithms", options.algorithm_words, "LIST",
           "Some of " + bench::known_entries() + "; all: those that are available here");
  add_number(command, "--repetitions", options.repetitions, "N",
             "Sums of each size by each algorithm; 0: 15 to 500, depending on the size");
  add_number(command, "--seconds", options.seconds, "S",
             "Time limit for each size: no further repetition begins after it, except the first 3");
  add_option(command, shared_option("segment-kb"), options.train);
  add_option(command, shared_option("verify-messages"), options.train);
  add_setup(command, options.train);
  add_text(command, "--json", options.json, "FILE", "Writes all measurements to this file");
  add_text(command, "--plot", options.plot, "FILE",
           "Draws bandwidth and time over size to this .png, .pdf or .svg file; needs matplotlib");
}

void add_explain(CLI::App& bench, Request& request) {
  CLI::App& command = add_command(bench, "explain",
                                  "Prints which rank sends what to whom at each step; needs no MPI",
                                  "  rueda bench explain --ranks 4");
  auto& options = options_of<BenchExplainOptions>(command, request);
  add_number(command, "--ranks", options.ranks, "P", "Number of ranks, up to 16");
  add_number(command, "--length", options.length, "N", "Number of floats to sum");
  add_choice(command, "--algorithm", options.algorithm,
             {Algorithm::ring, Algorithm::doubling, Algorithm::halving, Algorithm::central},
             "Algorithm to explain");
}

void add_layers(CLI::App& bench, Request& request) {
  CLI::App& command = add_command(
      bench, "layers", "Times each convolution and the whole training step on a CPU; needs no MPI",
      "  rueda bench layers --model resnet50v2 --batch-per-rank 64 --threads 2");
  auto& options = options_of<BenchLayersOptions>(command, request);
  TrainConfig& train = options.train;
  add_option(command, shared_option("model"), train);
  add_option(command, plain_option("batch-per-rank", "Images of a step"), train);
  add_option(command, shared_option("precision"), train);
  add_option(command, shared_option("image-size"), train);
  add_number(command, "--classes", options.classes, "N", "Number of classes");
  add_option(command, shared_option("threads", "Threads; 0: all cores"), train);
  add_number(command, "--repetitions", options.repetitions, "N",
             "Repetitions of each convolution and of the step");
  add_text(command, "--json", options.json, "FILE", "Writes all measurements to this file");
}

}  // namespace

void add_bench(CLI::App& app, Request& request) {
  CLI::App& bench =
      add_command(app, "bench", "Times and explains the all-reduces; times convolutions", "");
  bench.require_subcommand(1);
  bench.footer(
      "rueda bench COMMAND --help shows the options of a command.\n\nExample:\n"
      "  mpirun -n 2 rueda bench all-reduce --sizes resnet18 --algorithms ring,mpi");
  add_all_reduce(bench, request);
  add_explain(bench, request);
  add_layers(bench, request);
}

}  // namespace rueda
