#include "run/wiring/transport.hpp"

#include <string>

#include <catch2/catch.hpp>

#include "../../support/common.hpp"
#include "../../support/sample_run.hpp"
#include "base/error.hpp"
#include "launch/gpu_place.hpp"
#include "launch/launcher.hpp"
#include "record/run_json.hpp"
#include "reduce/ring_plan.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "run/console.hpp"
#include "run/wiring/device_choice.hpp"
#include "run/wiring/open_backend.hpp"
#include "run/wiring/overlap.hpp"
#include "run/wiring/plans.hpp"
#include "run/wiring/reduce_rule.hpp"
#include "run/wiring/timed_setup.hpp"
#include "run/wiring/tuning_file.hpp"

namespace rueda::test {
namespace {

using Catch::Contains;

const CudaVerdict kAware{true, "it says so"};
const CudaVerdict kUnaware{false, "it was built without"};

TEST_CASE("gradients go to MPI as the user says, else as MPI can", "[transport]") {
  const struct {
    TransportChoice choice;
    bool on_host;
    CudaVerdict mpi;
    Transport transport;
  } cases[] = {
      {TransportChoice::automatic, true, kUnaware, Transport::host},
      {TransportChoice::staged, false, kAware, Transport::staged},
      {TransportChoice::staged, false, kUnaware, Transport::staged},
      {TransportChoice::device, false, kAware, Transport::device},
      {TransportChoice::device, false, kUnaware, Transport::device},
      {TransportChoice::automatic, false, kAware, Transport::device},
  };
  for (const auto& c : cases) {
    CAPTURE(to_string(c.choice), c.on_host, c.mpi.aware);
    const TransportDecision decision = decide_transport(c.choice, c.on_host, c.mpi);
    CHECK(decision.transport == c.transport);
    CHECK(decision.warning.empty());
  }
  const auto unaware = decide_transport(TransportChoice::automatic, false, kUnaware);
  CHECK(unaware.transport == Transport::staged);
  CHECK_THAT(unaware.warning, Contains("it was built without") && Contains("--transport"));
  CHECK(unaware.warning.find('\n') == std::string::npos);
  // What may crash is staged, unless the user knows better and is told.
  const CudaVerdict risky{.why = "UCX may crash", .may_crash = true};
  const auto safe = decide_transport(TransportChoice::automatic, false, risky);
  CHECK(safe.transport == Transport::staged);
  CHECK_THAT(safe.warning, Contains("UCX may crash"));
  const auto told = decide_transport(TransportChoice::device, false, risky);
  CHECK(told.transport == Transport::device);
  CHECK(told.warning == "--transport device: UCX may crash");
  CHECK(decide_transport(TransportChoice::staged, false, risky).warning.empty());
}

TEST_CASE("host memory is neither staged nor a device's", "[transport]") {
  CHECK_THROWS_AS(decide_transport(TransportChoice::staged, true, kAware), InputError);
  CHECK_THROWS_WITH(decide_transport(TransportChoice::staged, true, kAware),
                    Contains("--transport staged") && Contains("needs no staging"));
  CHECK_THROWS_WITH(decide_transport(TransportChoice::device, true, kAware),
                    Contains("--transport device"));
}

TEST_CASE("overlap: where a core is left over, or the host does not compute", "[overlap]") {
  constexpr auto automatic = Overlap::automatic;
  const struct {
    Overlap choice;
    OverlapFacts facts;  // ranks, turns, on the host, cores, threads, threads given
    OverlapDecision decision;
  } cases[] = {
      {automatic, {2, true, true, 4, 4, false}, {false, 4}},
      {automatic, {2, true, true, 4, 3, false}, {true, 3}},
      {automatic, {2, true, true, 3.5, 3, false}, {false, 3}},
      {Overlap::on, {2, true, true, 4, 4, false}, {true, 3}},  // takes a core of those that compute
      {Overlap::on, {2, true, true, 4, 4, true}, {true, 4}},
      {Overlap::on, {2, true, true, 1, 1, false}, {true, 1}},
      {Overlap::on, {2, true, true, 2, 1, false}, {true, 1}},
      {automatic, {2, true, false, 4, 4, false}, {true, 4}},
      {Overlap::off, {2, true, false, 4, 4, false}, {false, 4}},
      {Overlap::on, {1, true, false, 4, 4, false}, {false, 4}},  // one rank
      {automatic, {2, false, false, 4, 4, false}, {false, 4}},   // MPI is for one thread
  };
  for (const auto& c : cases) {
    CAPTURE(to_string(c.choice), c.facts.ranks, c.facts.cores, c.facts.threads);
    const OverlapDecision decision = decide_overlap(c.choice, c.facts);
    CHECK(decision.on == c.decision.on);
    CHECK(decision.threads == c.decision.threads);
  }
  CHECK_THROWS_AS(decide_overlap(Overlap::on, {2, false, false, 4, 4, false}), InputError);
}

TEST_CASE("a rank takes the GPU of its local rank, or the only one that it sees",
          "[device_choice]") {
  const struct {
    std::optional<int> local_rank;
    bool has_peers;
    int visible, ordinal;
    bool is_remarked = false;
  } cases[] = {
      {0, true, 1, 0},        {1, true, 1, 0}, {7, true, 1, 0}, {{}, true, 1, 0},
      {0, true, 4, 0},        {1, true, 4, 1}, {2, true, 4, 2}, {3, true, 4, 3},
      {4, true, 4, 0},        {7, true, 3, 1},  // more ranks than GPUs
      {{}, true, 4, 0, true},                   // without a local rank
      {{}, false, 4, 0},
  };
  for (const auto& c : cases) {
    CAPTURE(c.local_rank.value_or(-1), c.has_peers, c.visible);
    const DeviceChoice choice = choose_device(c.local_rank, c.has_peers, c.visible);
    CHECK(choice.ordinal == c.ordinal);
    CHECK(choice.remark.empty() == !c.is_remarked);
  }
  CHECK_THAT(choose_device({}, true, 4).remark,
             Contains("4 GPUs") && Contains("CUDA_VISIBLE_DEVICES"));
}

TEST_CASE("the CPU is asked for no GPU", "[device_choice]") {
  CHECK_FALSE(wants_cuda(BackendChoice::cpu));
  CHECK(wants_cuda(BackendChoice::cuda));
  const SelectedDevice selected = select_device(BackendChoice::cpu);
  CHECK((selected.uuid.empty() && selected.remark.empty() && !selected.failure));
}

TEST_CASE("ranks that share a GPU are named with it, host by host", "[shared_device]") {
  const std::pair<std::vector<RankPlace>, const char*> cases[] = {
      {{}, ""},
      {{{"a", "GPU-1"}, {"a", "GPU-2"}, {"b", "GPU-3"}}, ""},
      {{{"a", ""}, {"a", ""}, {"a", "GPU-1"}}, ""},
      {{{"a", "GPU-1"}, {"b", "GPU-1"}}, ""},  // they only look alike
      {{{"a", "GPU-1"}, {"a", "GPU-2"}, {"a", "GPU-1"}}, "ranks 0 and 2 on GPU-1 of a"},
      {{{"a", "GPU-1"}, {"a", "GPU-1"}, {"a", "GPU-1"}}, "ranks 0, 1 and 2 on GPU-1 of a"},
      {{{"b", "GPU-2"}, {"a", "GPU-1"}, {"b", "GPU-2"}, {"a", "GPU-1"}},
       "ranks 1 and 3 on GPU-1 of a; ranks 0 and 2 on GPU-2 of b"},
  };
  for (const auto& [ranks, text] : cases) CHECK(shared_devices(ranks) == text);
}

constexpr std::size_t kLarge = std::size_t{100} << 20;

using Algorithms = std::vector<Algorithm>;

/// Ranks on hosts of equal numbers of ranks.
ReduceSituation ranks_on(int ranks, int hosts) {
  return {.ranks = ranks, .hosts = hosts, .most_on_a_host = ranks / hosts};
}

TEST_CASE("auto chooses among what is possible here", "[reduce]") {
  using enum Algorithm;
  const Algorithms flat = {ring, doubling, halving};
  const Algorithms nested = {ring, doubling, halving, hierarchical, hierarchical_halving};
  ReduceSituation one_host = ranks_on(4, 1);
  CHECK(auto_candidates(one_host) == flat);
  one_host.may_share = true;
  CHECK(auto_candidates(one_host) == Algorithms{shared});
  one_host.wire = Wire::bf16;
  CHECK(auto_candidates(one_host) == Algorithms{ring});
  one_host = ranks_on(4, 1);
  one_host.may_share = true;
  one_host.memory_is_on_host = false;
  CHECK(auto_candidates(one_host) == flat);
  CHECK(auto_candidates(ranks_on(4, 4)) == flat);
  ReduceSituation hosts = ranks_on(8, 2);
  CHECK(auto_candidates(hosts) == nested);
  hosts.wire = Wire::bf16;
  CHECK(auto_candidates(hosts) == Algorithms{ring, hierarchical});
  hosts.in_blocks = false;
  CHECK(auto_candidates(hosts) == Algorithms{hierarchical});
  hosts.wire = Wire::fp32;
  CHECK(auto_candidates(hosts) == Algorithms{hierarchical, hierarchical_halving});
}

TEST_CASE("in the fixed order auto chooses among what keeps it", "[reduce]") {
  using enum Algorithm;
  const auto candidates = [](ReduceSituation here, bool keeps_tree) {
    here.fixed_order = true;
    here.keeps_tree = keeps_tree;
    return auto_candidates(here);
  };
  CHECK(candidates(ranks_on(4, 1), true) == Algorithms{ring, doubling, halving});
  CHECK(candidates(ranks_on(5, 1), true) == Algorithms{ring, doubling});
  CHECK(candidates(ranks_on(9, 3), false) == Algorithms{ring, doubling});
  CHECK(candidates(ranks_on(6, 3), true) ==
        Algorithms{ring, doubling, halving, hierarchical, hierarchical_halving});
  CHECK(candidates(ranks_on(10, 5), true) == Algorithms{ring, doubling, hierarchical});
}

TEST_CASE("the rule takes the sum that costs least at each length", "[reduce]") {
  const cost::Machine machine{.inside = {2e-6, 1 / 20e9},
                              .between = {20e-6, 1 / 12e9},
                              .gamma = 1 / 8e9,
                              .ranks_per_node = 6,
                              .links_per_node = 2};
  for (const int ranks : {6, 12, 48, 96, 768}) {
    const ReduceSituation here = ranks_on(ranks, ranks / 6);
    const ReduceTable table = reduce_rule(here, machine);
    for (double bytes = 4; bytes < 4e8; bytes *= 1.37) {
      const auto seconds = [&](Algorithm one) {
        constexpr auto words = words_of(cost::Scheme{});
        const auto* word = std::ranges::find(words, std::string_view(to_string(one)));
        const auto scheme = cost::Scheme(word - words.begin());
        return all_reduce_seconds(scheme, machine, std::size_t(ranks), bytes);
      };
      const Algorithms all = auto_candidates(here);
      const double best = seconds(*std::ranges::min_element(all, {}, seconds));
      CAPTURE(ranks, bytes, to_string(table.way(std::size_t(bytes)).algorithm));
      CHECK(seconds(table.way(std::size_t(bytes)).algorithm) <= 1.05 * best);
    }
  }
}

TEST_CASE("sums that cost the same take no turns", "[reduce]") {
  // On hosts of two ranks halving and the hierarchical sum with it send the same messages, and
  // rounding alone would decide: 19 rows here.
  const cost::Machine machine{.inside = {1.4e-6, 1 / 6.4e9},
                              .between = {256e-6, 1 / 277e6},
                              .gamma = 1 / 14.6e9,
                              .ranks_per_node = 2};
  CHECK(reduce_rule(ranks_on(16, 8), machine).rows.size() == 2);
}

TEST_CASE("many ranks sum by halving what fewer sum by the ring", "[reduce]") {
  const cost::Machine machine{.inside = {}, .between = {20e-6, 1 / 12e9}, .gamma = 1 / 8e9};
  const auto taken = [&](int ranks, std::size_t bytes) {
    return reduce_rule(ranks_on(ranks, ranks), machine).way(bytes).algorithm;
  };
  CHECK(taken(1024, 400) == Algorithm::doubling);
  CHECK(taken(1024, 1'084'412) == Algorithm::halving);
  CHECK(taken(2, 1'084'412) == Algorithm::ring);
  CHECK(taken(3, kLarge) == Algorithm::ring);
  CHECK(reduce_rule(ranks_on(1024, 1024), machine).way(SIZE_MAX).algorithm == Algorithm::halving);
}

TEST_CASE("the rule keeps messages between hosts so short that nobody is asked first", "[reduce]") {
  // Measured on four emulated hosts at 10 Gbit/s.
  const cost::Link asks{600e-6, 3.1e-9, 262144, 4.1e-9};
  const cost::Machine machine{.between = asks.with_short(65536, {205e-6, 2e-9}), .gamma = 1 / 50e9};
  const ReduceTable table = reduce_rule(ranks_on(4, 4), machine);
  CHECK(table.way(60'000).algorithm == Algorithm::doubling);
  CHECK(table.way(100'000).algorithm == Algorithm::halving);
  CHECK(table.way(200'000).algorithm == Algorithm::ring);
  CHECK_THAT(table.why, Contains("205 us and 0.244 GB/s between hosts"));
}

TEST_CASE("the rule says by which costs, or that there was no choice", "[reduce]") {
  const cost::Machine machine{.inside = {2e-6, 1 / 20e9},
                              .between = {20e-6, 1 / 12e9},
                              .gamma = 1 / 8e9,
                              .ranks_per_node = 4};
  CHECK(reduce_rule(ranks_on(64, 16), machine).why ==
        "by measured costs for 64 ranks: 20.0 us and 12.0 GB/s between hosts, 2.00 us and 20.0 "
        "GB/s inside, additions at 8.00 GB/s");
  CHECK_THAT(reduce_rule(ranks_on(4, 4), machine).why, !Contains("inside"));
  CHECK_THAT(reduce_rule(ranks_on(4, 1), machine).why, !Contains("between"));
  ReduceSituation shares = ranks_on(4, 1);
  shares.may_share = true;
  CHECK(reduce_rule(shares, {}).why == "by the rule for one host with shared memory");
  CHECK(reduce_rule(shares, {}).way(4).algorithm == Algorithm::shared);
}

TEST_CASE("chunks of host memory are cut inside a host, not between hosts", "[reduce]") {
  CHECK(usual_segment_bytes({.hosts = 1}) == kHostSegmentBytes);
  CHECK(usual_segment_bytes({.hosts = 2}) == 0);
  const cost::Machine machine{{1e-6, 1e-10}, {1e-5, 1e-9}, 1e-10, 2};
  CHECK(reduce_rule(ranks_on(3, 3), machine).way(kLarge).segment_bytes == 0);
  CHECK(reduce_rule(ranks_on(6, 3), machine).way(kLarge).segment_bytes == 0);
  CHECK(reduce_rule(ranks_on(3, 1), machine).way(kLarge).segment_bytes == kHostSegmentBytes);
  CHECK(reduce_rule(ranks_on(3, 1), machine).way(4).segment_bytes == 0);  // doubling has no chunks
}

TEST_CASE("devices of a host get segments that no usual bucket reaches", "[reduce]") {
  for (const int ranks : {2, 3, 4, 8, 16}) {
    const ReduceSituation here{.ranks = ranks, .most_on_a_host = ranks, .memory_is_on_host = false};
    const std::size_t segment = usual_segment_bytes(here);
    CAPTURE(ranks, segment);
    CHECK(segment == std::size_t{ranks < 4 ? 64U : 32U} << 20U);
    const std::size_t longest_bucket = BucketOptions().most_bytes;
    CHECK(Segments::of(longest_bucket / std::size_t(ranks), segment).count == 1);
  }
  CHECK(usual_segment_bytes({.hosts = 2, .memory_is_on_host = false}) == kDeviceSegmentBytes);
}

TEST_CASE("each plan is compiled by one of the ranks that want it, all compile about as many") {
  using Shares = std::map<std::string, int>;
  CHECK(share_out_plans({"", ""}).empty());
  CHECK(share_out_plans({"a\nb\nc\n", "c\nb\na\n"}) == Shares{{"a", 0}, {"b", 1}, {"c", 0}});
  // The first GPU is of another kind.
  CHECK(share_out_plans({"x\ny\n", "a\nb\nc\n", "", "a\nb\nc\n"}) ==
        Shares{{"a", 1}, {"b", 3}, {"c", 1}, {"x", 0}, {"y", 0}});
}

const Tuning kTuning{"NVIDIA H200",
                     "9.19.0",
                     {{"forward bf16 1x2x3x4", "eng7{k1=2}"}},
                     {{"forward bf16 1x2x3x4", {{"eng7{k1=2}", 1e-4}, {"eng1{}", 2e-4}}}}};

TEST_CASE("tuning file: what is written is read") {
  const Tuning read = parse_tuning(tuning_text(kTuning), "t.json");
  CHECK(read.device == kTuning.device);
  CHECK(read.cudnn == kTuning.cudnn);
  CHECK(read.engines == kTuning.engines);
  CHECK(read.seconds == kTuning.seconds);
  Tuning unfused = kTuning;
  unfused.engines["forward bf16 1x2x3x4 + bias"] = "unfused";
  CHECK(parse_tuning(tuning_text(unfused), "t.json").engines == unfused.engines);
}

TEST_CASE("tuning file: anything else is refused by name") {
  const std::string text =
      GENERATE("", "{", "[]", "7", "{}", R"({"rueda_tuning":2,"device":"a","cudnn":"b"})",
               R"({"rueda_tuning":1,"device":"a","cudnn":"b"})",
               R"({"rueda_tuning":1,"device":5,"cudnn":"b","engines":{}})",
               R"({"rueda_tuning":1,"device":"a","cudnn":"b","engines":{"x":1}})",
               R"({"rueda_tuning":1,"device":"a","cudnn":"b","engines":7})",
               R"({"rueda_tuning":1,"device":"a","cudnn":"b","engines":{"forward 1":"unfused"}})");
  CAPTURE(text);
  CHECK_THROWS_AS(parse_tuning(text, "t.json"), InputError);
  CHECK_THROWS_WITH(parse_tuning(text, "t.json"),
                    Contains("--tuning-file t.json") && Contains("--tune-engines"));
}

TEST_CASE("tuning file: made on another GPU or with another cuDNN") {
  CHECK_NOTHROW(check_tuning(kTuning, "t.json", "NVIDIA H200", "9.19.0"));
  CHECK_THROWS_WITH(check_tuning(kTuning, "t.json", "NVIDIA A100", "9.19.0"),
                    Contains("NVIDIA H200") && Contains("NVIDIA A100"));
  CHECK_THROWS_WITH(check_tuning(kTuning, "t.json", "NVIDIA H200", "9.20.0"),
                    Contains("9.19.0") && Contains("9.20.0"));
}

TEST_CASE("tuning file: one that is not there or is a directory") {
  CHECK_THROWS_WITH(read_tuning_file("/nonexistent/t.json"), Contains("cannot be opened"));
  CHECK_THROWS_AS(read_tuning_file("/tmp"), InputError);
}

/// The files of a run in a folder of their own.
struct Recorded {
  explicit Recorded(const RunRecord& run) {
    write_run_json(json(), run);
    append_steps_csv(steps(), {}, true);
    for (const EpochRecord& epoch : run.epochs) append_steps_csv(steps(), epoch, false);
  }
  std::string json() const { return folder.path() / kRunJsonName; }
  std::filesystem::path steps() const { return folder.path() / kStepsCsvName; }
  ScratchDirectory folder;
};

std::string timing_refusal(const std::string& file, const std::string& model = "resnet20",
                           int image_size = 32) {
  return test::refusal([&] { recorded_image_seconds(file, model, image_size); });
}

/// Every full step of epoch e takes e milliseconds an image, every partial one less.
RunRecord plain_run() {
  RunRecord run = test::sample_run();
  for (EpochRecord& epoch : run.epochs) {
    for (auto& steps : epoch.step_records) {
      for (StepRecord& s : steps) {
        const double each = s.global_samples == run.global_batch ? 1e-3 * s.epoch : 1e-6;
        s.phases = {
            9, 9, 0.25 * each * s.samples, 0.25 * each * s.samples, 0.5 * each * s.samples, 9,
            9, 9};
      }
    }
  }
  return run;
}

TEST_CASE("recorded compute: the median of full steps after the first epoch", "[timed]") {
  const RunRecord run = plain_run();
  REQUIRE(run.epochs.size() == 3);
  const Recorded files(run);
  CHECK(recorded_image_seconds(files.json(), "resnet20", 32) == Approx(2.5e-3));
}

TEST_CASE("recorded compute: the first epoch counts where it is the only one", "[timed]") {
  RunRecord run = plain_run();
  run.epochs.resize(1);
  const Recorded files(run);
  CHECK(recorded_image_seconds(files.json(), "resnet20", 32) == Approx(1e-3));
}

TEST_CASE("recorded compute: what does not fit is refused", "[timed]") {
  RunRecord run = plain_run();
  const Recorded files(run);
  CHECK_THAT(timing_refusal("/no/such.json"), Contains("cannot be opened"));
  CHECK_THAT(timing_refusal(files.steps()), Contains("no JSON from byte 1 on"));
  CHECK_THAT(timing_refusal(files.json(), "resnet18"), Contains("it is of resnet20 for 32 pixels"));
  CHECK_THAT(timing_refusal(files.json(), "resnet20", 64), Contains("not resnet20 for 64"));
  std::filesystem::remove(files.steps());
  CHECK_THAT(timing_refusal(files.json()), Contains("no steps.csv in its directory"));
  run.config.device.backend = BackendChoice::timed;
  const Recorded timed_files(run);
  CHECK_THAT(timing_refusal(timed_files.json()), Contains("computed nothing itself"));
}

}  // namespace
}  // namespace rueda::test
