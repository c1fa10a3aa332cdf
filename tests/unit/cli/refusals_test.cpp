#include <cstdlib>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include "cli/cli.hpp"
#include "run/resume/taken_options.hpp"
#include "tests/support/common.hpp"

// Words that a command refuses by itself, before any file, rank or device is looked at: exit
// code 2. tests/cli starts the program for one of each kind.

namespace rueda {
namespace {

using Catch::Contains;
using Line = std::vector<std::string>;

struct Refused {
  std::string words;
  std::string part, other = {};  ///< of the message
};

/// What the command says, by its options or, where it needs neither MPI nor a device, when it runs.
std::string refusal_of(const Line& words) {
  return test::refusal([&] {
    const Request request = parse_command_line(words);
    std::ostringstream out;
    if (const auto* summary = std::get_if<SummaryOptions>(&request)) run_command(*summary, out);
    if (const auto* train = std::get_if<TrainConfig>(&request)) {
      TrainConfig config = *train;
      complete_by_checkpoint(config);  // rank 0's part
    }
  });
}

/// Each line is refused after the words `begin`.
void check_all(const std::string& begin, const std::vector<Refused>& cases) {
  for (const Refused& one : cases) {
    Line words;
    std::istringstream text(begin + " " + one.words);
    for (std::string word; text >> word;) words.push_back(word);
    INFO("rueda " << text.str());
    const std::string message = refusal_of(words);
    CHECK_THAT(message, Contains(one.part) && Contains(one.other));
    CHECK(message.find('\n') == message.npos);
  }
}

}  // namespace

TEST_CASE("refused: the program and train", "[command_line][refusals]") {
  const test::ScratchDirectory folder;
  check_all("", {{"", "a command is missing", "doctor, synth, summary, train"},
                 {"tarin", "'tarin'", "did you mean train?"},
                 {"reprot", "'reprot'", "did you mean report?"},
                 {"--model resnet20", "--model", "did you mean rueda train --model?"},
                 {"forecasts", "'forecasts'", "give one of doctor"},  // hidden
                 {"nonsense", "'nonsense'", "give one of doctor, synth, summary, train"}});
  check_all("train", {{"--model resnet19", "resnet19", "resnet20"},
                      {"--config /dev/zero", "/dev/zero"},
                      {"--checkpoint-every 5", "--checkpoint-every", "50steps"},
                      {"--resume " + folder.path().string(), "there is no checkpoint"},
                      {"--resume /none", "there is no checkpoint"},
                      {"--backend gpu", "'gpu'", "did you mean cuda?"},
                      {"--precision fp16", "'fp16'", "did you mean bf16?"},
                      {"--shuffle no", "'no'", "did you mean off?"},
                      {"--overlap true", "'true'", "did you mean on?"},
                      {"--bucket-mb -1", "--bucket-mb"},
                      {"--all-reduce central", "--all-reduce central was removed"},
                      {"--compute 40", "--compute says", "add --backend timed"},
                      {"--bucket-mb often", "--bucket-mb"},
                      {"--overlap maybe", "--overlap"},
                      {"--audit-by self", "--audit-by self", "add --audit-every"},
                      {"--backend cuda --all-reduce shared --transport staged", "--transport",
                       "leave it at auto"}});
}

TEST_CASE("refused: a short word is not taken for one that a letter makes of it",
          "[command_line][refusals]") {
  for (const Line& words : {Line{"train", "--backend", "gpx"}, Line{"train", "--shuffle", "ob"},
                            Line{"train", "--recompute", "on"}})
    CHECK_THAT(refusal_of(words), Contains("give ") && !Contains("did you mean"));
}

TEST_CASE("refused: parts of the ranks", "[command_line][refusals]") {
  const char* const numbers = "give numbers above 0 with commas between them";
  check_all("train",
            {{"--balance 3,0", "'3,0'", numbers},
             {"--balance nan,1", "'nan,1'", numbers},
             {"--balance fast", "'fast'", "or the word equal or speed"},
             {"--balance 3,1 --shard fixed", "--shard fixed gives each rank images of its own"},
             {"--balance speed --reduce-order fixed", "give one of the two"},
             {"--compute ms=40,factors=1:2", "--compute"}});
  CHECK_THAT(refusal_of({"train", "--balance", ""}), Contains(numbers));
}

TEST_CASE("refused: evaluate, summary and doctor", "[command_line][refusals]") {
  check_all("evaluate --init-weights run", {{"--epochs 3", "--epochs"}});
  check_all("summary --model resnet50v2 --image-size 128 --batch-per-rank 1024 --roofline",
            {{"H300", "--roofline 'H300'", "H200, H100, A100"},
             {"H2000", "--roofline 'H2000'", "790e12,4.3e12"},
             {"H200 --backend cpu", "--roofline"},
             {"H200 --batch-per-rank max", "--batch-per-rank", "'max'"},
             {"H200 --backend timed", "--backend", "'timed'"}});
  check_all("doctor", {{"--timeout 0", "--timeout"}, {"--backend tpu", "--backend"}});
}

TEST_CASE("refused: bench", "[command_line][refusals]") {
  check_all("bench", {{"", "a command of bench is missing"},
                      {"nonsense",
                       "'nonsense' is not a command of bench: give one of all-reduce, "
                       "explain, layers"}});
  check_all("bench all-reduce", {{"--sizes 4,many", "'many'"},
                                 {"--algorithms rong", "'rong'"},
                                 {"--repetitions -1", "--repetitions"},
                                 {"--seconds 0", "--seconds"},
                                 {"--segment-kb 2000000", "--segment-kb"},
                                 {"--threads -1", "--threads"},
                                 {"4", "unexpected argument 4"}});
  check_all("bench explain", {{"--ranks 0", "--ranks"},
                              {"--ranks 17", "--ranks"},
                              {"--ranks x", "--ranks"},
                              {"--length -1", "--length"},
                              {"--length 99999999999999", "--length"},
                              {"--algorithm mpi", "--algorithm"}});
  check_all("bench layers", {{"--model resnet21x", "'resnet21x'"},
                             {"--batch-per-rank 0", "--batch-per-rank"},
                             {"--backend cuda", "--backend"},
                             {"--repetitions 0", "--repetitions"}});
}

TEST_CASE("refused: bench layers by each of several ranks", "[command_line][refusals]") {
  constexpr const char* kSize = "OMPI_COMM_WORLD_SIZE";
  REQUIRE(std::getenv(kSize) == nullptr);  // that of a launcher would be lost
  setenv(kSize, "2", 1);
  const std::string message = refusal_of({"bench", "layers"});
  unsetenv(kSize);
  CHECK_THAT(message, Contains("measures one rank") && Contains("without a launcher"));
}

}  // namespace rueda
