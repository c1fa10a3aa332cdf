#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include "child.hpp"
#include "facts_json.hpp"
#include "machine.hpp"
#include "mailbox.hpp"
#include "mpi/probes/cuda_awareness.hpp"
#include "mpi/probes/link_probe.hpp"
#include "mpi/session/session.hpp"
#include "rueda/data/cifar10.hpp"
#include "transfer.hpp"
#include "wiring/device_choice.hpp"

namespace rueda::doctor {
namespace {

using Kind = DoctorFault::Kind;

const char* environment(const char* name) { return std::getenv(name); }

/// How much longer than others a step may take.
constexpr int kPlain = 1;
constexpr int kSlow = 3;
constexpr int kReadsFiles = 10;

AwarenessFacts read_awareness() {
  const CudaSignals signals = read_cuda_signals(environment);
  const CudaVerdict verdict = judge_cuda_awareness(signals);
  return {to_string(signals.compiled), to_string(signals.reported), verdict.aware, verdict.why};
}

DataFacts read_data(const std::string& where) {
  DataFacts facts;
  if (where.empty()) return facts;
  try {
    static_cast<DataCheck&>(facts) = check_cifar10(where);
    facts.fingerprint = fmt::format("{:x}-{:x}", facts.train_fingerprint, facts.test_fingerprint);
  } catch (const std::exception& error) {
    facts.failure = error.what();
  }
  return facts;
}

class Worker {
 public:
  Worker(const DoctorOptions& options, WorkerPipes pipes) : options_(options), pipes_(pipes) {
    if (options.injected.rank == rank_by_launcher()) fault_ = options.injected.kind;
  }

  void run() {
    look();
    begin(kStartStep, kSlow);
    Session session(ThreadLevel::funneled);
    try {
      use_mpi();
    } catch (const std::exception& error) {
      write_line({{"failed", error.what()}});
      std::_Exit(1);  // peers may wait in a collective, where the end of MPI would wait for them
    }
    begin("leave MPI", kPlain);
  }

  void write_line(const nlohmann::json& line) const {
    const std::string text = line_of(line) + "\n";
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t count = write(pipes_.facts, text.data() + sent, text.size() - sent);
      if (count <= 0) return;  // the supervisor has ended
      sent += static_cast<std::size_t>(count);
    }
  }

 private:
  void use_mpi() {
    Communicator world;
    introduce(world);
    measure(world);
    check_data(world);
    plan(world);
    transfer(world);
  }

  void begin(const char* step, int factor) const {
    write_line({{"step", step}, {"factor", factor}});
  }

  void look() {
    begin(kFirstStep, kPlain);
    facts_ = look_at_machine(environment, options_.backend);
    ranks_ = {facts_};
    share_out_cores(ranks_);
    write_ranks();
    if (fault_ == Kind::crash_start) std::raise(SIGSEGV);
    while (fault_ == Kind::stall_start) pause();
  }

  void introduce(Communicator& world) {
    facts_.rank = world.rank();
    facts_.size = world.size();
    facts_.local_rank = world.local_rank();
    facts_.local_size = world.local_size();
    judge_launch(facts_.launch, environment, world.size());
    facts_.awareness = read_awareness();
    gather(world);
  }

  void measure(Communicator& world) {
    begin("messages between neighbours", kSlow);
    HostExchangeBuffer buffer(kPingPongBytes / sizeof(float));
    const LinkSpeed speed = ping_pong(world, buffer);
    facts_.host_link = {speed.latency_us, speed.gb_per_second};
    gather(world);
  }

  void check_data(Communicator& world) {
    if (options_.data.empty()) return;
    begin("read the data set", kReadsFiles);
    facts_.data = read_data(options_.data);
    gather(world);
  }

  /// On one rank: the plans of all are the same.
  void plan(Communicator& world) {
    begin("plan the largest batches", kReadsFiles);
    if (world.rank() == 0) {
      const std::size_t bytes = memory_per_rank(ranks_);
      const RankFacts& self = ranks_.front();
      const auto batches = self.backend.empty() ? std::vector<BatchFacts>()
                                                : largest_batches(options_.backend, bytes,
                                                                  world.size(), self.cores.threads);
      write_line({{"batches", batches}, {"backend", self.backend}, {"memory", bytes}});
    }
    world.barrier();
  }

  void transfer(Communicator& world) {
    if (world.size() == 1) return;
    begin("prepare the transfer", kPlain);
    write_line({{"mailbox", make_mailbox(world)}});
    begin(kTransferStep, kPlain);
    char go = 0;
    while (read(pipes_.go, &go, 1) < 0 && errno == EINTR) continue;
    world.barrier();  // no rank crashes before all reports are out
    const TransferFacts mine = try_transfer(world, all_have_device(), fault_);
    write_line({{"transfer", mine}});
    if (mine.end != TransferFacts::End::arrived && mine.end != TransferFacts::End::wrong) return;
    std::vector<TransferFacts> all;
    for (const std::string& text : all_gather_text(world, line_of(mine))) {
      all.push_back(nlohmann::json::parse(text).get<TransferFacts>());
    }
    write_line({{"transfers", all}});
  }

  bool all_have_device() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const RankFacts& rank) {
      return rank.device.taken() != nullptr && rank.device.failure.empty();
    });
  }

  /// On one host in its temporary folder; else in the current one, which hosts share on most
  /// clusters.
  std::string make_mailbox(Communicator& world) const {
    std::string path;
    std::error_code ignored;
    namespace fs = std::filesystem;
    if (world.rank() == 0) {
      const bool single = ranks_by_host(ranks_).size() == 1;
      path = Mailbox::make(single ? fs::temp_directory_path(ignored) : fs::current_path(ignored),
                           world.size());
    }
    return all_gather_text(world, path).front();
  }

  void gather(Communicator& world) {
    const auto texts = all_gather_text(world, line_of(facts_));
    ranks_.clear();
    for (const std::string& text : texts) {
      ranks_.push_back(nlohmann::json::parse(text).get<RankFacts>());
    }
    share_out_cores(ranks_);
    write_ranks();
  }

  /// The rank that speaks needs the facts of all ranks, each other rank its own.
  void write_ranks() const {
    if (speaks_for_all()) return write_line({{"ranks", ranks_}});
    const auto own = ranks_.size() > 1 ? static_cast<std::size_t>(facts_.rank) : 0;
    write_line({{"ranks", std::vector<RankFacts>{ranks_.at(own)}}});
  }

  DoctorOptions options_;
  WorkerPipes pipes_;
  Kind fault_ = Kind::none;
  RankFacts facts_;
  std::vector<RankFacts> ranks_;
};

}  // namespace

int run_worker(const DoctorOptions& options, WorkerPipes pipes) {
  std::signal(SIGPIPE, SIG_IGN);
  Worker worker(options, pipes);
  try {
    worker.run();
    return 0;
  } catch (const std::exception& error) {
    worker.write_line({{"failed", error.what()}});
    return 1;
  }
}

}  // namespace rueda::doctor
