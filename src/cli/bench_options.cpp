#include "cli/options.hpp"

namespace rueda {
namespace {

void add_setup(CLI::App& command, TrainConfig& train) {
  add_backend(command, train.backend, "Device whose memory is summed");
  add_choice(command, "--transport", train.transport,
             {TransportChoice::automatic, TransportChoice::device, TransportChoice::staged},
             "How a GPU's memory reaches MPI, as for train");
  add_choice(command, "--wire", train.wire, {Wire::fp32, Wire::bf16}, "Numbers between ranks");
  add_number(command, "--threads", train.threads, "N",
             "Threads of a rank that add, 0 for cores / ranks");
  command.add_flag("--allow-shared-gpu", train.allow_shared_gpu, "Lets several ranks use one GPU");
}

void add_all_reduce(CLI::App& bench, Request& request) {
  CLI::App& command = add_command(
      bench, "all-reduce", "Times sums over ranks and tests each; run it as you run train",
      "  mpirun -n 2 rueda bench all-reduce\n"
      "  mpirun -n 4 rueda bench all-reduce --sizes 64k,resnet18 --json a.json");
  auto& options = options_of<BenchAllReduceOptions>(command, request);
  add_text(command, "--sizes", options.size_words, "LIST",
           "Bytes, or networks for the size of their gradients [4 to 256M and three networks]");
  add_text(command, "--algorithms", options.algorithm_words, "LIST",
           "Some of " + bench::known_entries() + "; all: what is available here");
  add_number(command, "--repetitions", options.repetitions, "N",
             "Sums of each size by each algorithm, 0 for 15 to 500, depending on the size");
  add_number(command, "--seconds", options.seconds, "S",
             "Time after which no repetition of a size begins, except the first 3");
  add_number(command, "--segment-kb", options.train.segment_kb, "KIB",
             "Pieces in which chunks travel, 0 for the default");
  command.add_flag("--verify-messages", options.train.verify_messages,
                   "Each message carries a check sum, as for train");
  add_setup(command, options.train);
  add_text(command, "--json", options.json, "FILE", "Writes everything measured there");
  add_text(command, "--plot", options.plot, "FILE",
           "Draws bandwidth and time over size there, as .png, .pdf or .svg; needs matplotlib");
}

void add_explain(CLI::App& bench, Request& request) {
  CLI::App& command =
      add_command(bench, "explain", "Prints who sends what to whom at each step; needs no MPI",
                  "  rueda bench explain --ranks 4");
  auto& options = options_of<BenchExplainOptions>(command, request);
  add_number(command, "--ranks", options.ranks, "P", "Ranks, up to 16");
  add_number(command, "--length", options.length, "N", "Floats of the slice");
  add_choice(command, "--algorithm", options.algorithm,
             {Algorithm::ring, Algorithm::doubling, Algorithm::central}, "Algorithm");
}

void add_layers(CLI::App& bench, Request& request) {
  CLI::App& command = add_command(
      bench, "layers",
      "Times each convolution alone and the training step, on a processor; needs no MPI",
      "  rueda bench layers --model resnet50v2 --batch-per-rank 64 --threads 2");
  auto& options = options_of<BenchLayersOptions>(command, request);
  TrainConfig& train = options.train;
  add_model(command, train.model, "Network");
  add_number(command, "--batch-per-rank", train.batch_per_rank, "N", "Images at once");
  add_choice(command, "--precision", train.precision, {Precision::fp32, Precision::bf16},
             "Activations and packed weights");
  add_number(command, "--image-size", train.image_size, "PIXELS", "Side of the images");
  add_number(command, "--threads", train.threads, "N", "Threads, 0 for all cores");
  add_number(command, "--repetitions", options.repetitions, "N",
             "Of each convolution and of the step");
  add_text(command, "--json", options.json, "FILE", "Writes everything measured there");
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
