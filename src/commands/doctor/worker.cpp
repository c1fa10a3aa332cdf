#include <chrono>
#include <memory>

#include <fcntl.h>

#include "base/core_time.hpp"
#include "base/files.hpp"
#include "commands/doctor/process.hpp"
#include "launch/launcher.hpp"
#include "launch/thread_team.hpp"
#include "mpi/probes/link_probe.hpp"
#include "mpi/probes/parameter_files.hpp"
#include "mpi/session/communicator.hpp"
#include "run/wiring/device_choice.hpp"

namespace rueda::doctor {
namespace {

using End = TransferFacts::End;

/// How much longer than others a step may take.
constexpr int kPlain = 1;
constexpr int kSlow = 3;
constexpr int kReadsFiles = 10;

/// For the largest batches of all networks: a GPU would take minutes.
constexpr std::chrono::seconds kPlanTime{15};
constexpr double kBusySeconds = 0.3;  ///< three periods of a quota

constexpr std::size_t kSmallFloats = 1024 / sizeof(float);
constexpr std::size_t kLargeFloats = kPingPongBytes / sizeof(float);

DataFacts read_data(const std::string& where) {
  DataFacts facts;
  try {
    static_cast<DataCheck&>(facts) = check_cifar10(where);
    facts.fingerprint = fmt::format("{:x}-{:x}", facts.train_fingerprint, facts.test_fingerprint);
  } catch (const std::exception& error) {
    facts.failure = error.what();
  }
  return facts;
}

std::unique_ptr<ExchangeBuffer> make_buffer(bool device) {
#if RUEDA_WITH_CUDA
  if (device) return make_device_exchange_buffer(kLargeFloats);
#else
  if (device) throw RunError("this build has no CUDA part");
#endif
  return std::make_unique<HostExchangeBuffer>(kLargeFloats);
}

void exchange(Communicator& world, TransferFacts& facts, const std::string& injected) {
  const auto buffer = make_buffer(facts.device);
  facts.end = End::arrived;
  for (const std::size_t floats : {kSmallFloats, kLargeFloats}) {
    PatternResult result = pattern_ring(world, *buffer, floats);
    if (floats == kSmallFloats) {
      if (injected == kWrongTransfer) result = {floats, 1, floats / 2};
      let_happen(injected, "-transfer");
    }
    if (result.wrong == 0 || facts.end == End::wrong) continue;
    facts.end = End::wrong;
    facts.detail = fmt::format("{} of {} elements, the first is number {}", result.wrong,
                               result.floats, result.first_wrong);
  }
  if (!facts.device) return;
  facts.link = {ping_pong(world, *buffer)};
  facts.two_copies_gb_per_second = two_copies_speed(world, *buffer);
}

/// Collective: sends patterns round the ring in small and large messages and
/// checks what comes, then measures the link of device memory. It may crash and
/// may never end, and takes the process with it: the supervisor tells how.
/// `injected` is the fault of this very rank, if it has one.
TransferFacts try_transfer(Communicator& world, bool device, const std::string& injected) {
  TransferFacts facts{.device = device, .detail = {}, .link = {}};
  try {
    exchange(world, facts, injected);
  } catch (const std::exception& error) {
    facts.end = End::failed;
    facts.detail = error.what();
  }
  return facts;
}

bool has_working_gpu(const RankFacts& rank) {
  return takes_gpu(rank) && rank.device.failure.empty();
}

/// Every rank's facts, as they go through JSON.
template <class Facts>
std::vector<Facts> all_gather_facts(RankGroup& group, const Facts& mine) {
  std::vector<Facts> all;
  for (const std::string& text : all_gather_text(group, text_of(json_of(mine))))
    all.push_back(from_text<Facts>(text));
  return all;
}

/// Open MPI is asked in a process of its own: it reads all of its settings for that, and those that
/// are made before it starts (Session) would come too late.
std::vector<std::string> asked_parameter_files() {
  constexpr int kMilliseconds = 5000;
  std::vector<std::string> files;
  try {
    Child asked([](int channel) {
      const OpenFile nowhere("/dev/null", O_WRONLY);  // what is wrong it says when it starts
      for (const int output : {STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere.fd(), output);
      const std::string line = text_of(json_of(open_mpi_parameter_files())) + "\n";
      return int(write(channel, line.data(), line.size()) < 0);
    });
    if (const auto line = asked.next_line(kMilliseconds)) {
      const auto json = parse_json(*line);
      read_value(JsonView(json), files);
    }
  } catch (const Error&) {  // no process can be started: the start of MPI shows it
    files.clear();
  }
  return files;
}

class Worker {
 public:
  Worker(const DoctorOptions& options, const Fault& fault, int channel)
      : options_(options), channel_(channel) {
    if (fault.rank == rank_by_launcher()) fault_ = fault.kind;
  }

  void run() {
    begin(kFirstStep, kPlain);
    facts_ = look_at_machine(environment_variable, options_.backend, asked_parameter_files());
    keep({facts_});
    let_happen(fault_, "-start");
    begin(kStartStep, kSlow);
    session_ = std::make_unique<Session>(ThreadLevel::funneled);
    use_mpi();
    begin("leave MPI", kPlain);
    session_.reset();
  }

  void write_line(const JsonView::Json& line) const {
    const std::string text = text_of(line) + "\n";
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t count = write(channel_, text.data() + sent, text.size() - sent);
      if (count <= 0) return;  // the supervisor has ended
      sent += std::size_t(count);
    }
  }

 private:
  void begin(const char* step, int factor) const {
    write_line({{"step", step}, {"factor", factor}});
  }

  void use_mpi() {
    Communicator world;
    introduce(world);
    const int threads = ranks_.at(std::size_t(world.rank())).cores.threads;
    begin(kTeamStep, kPlain);
    if (facts_.backend == "cpu") facts_.cores.team = settle_team(threads);
    begin("time the cores", kPlain);
    world.barrier();
    facts_.cores.got = busy_core_time(threads, kBusySeconds).share();
    begin("messages between neighbours", kSlow);
    const auto buffer = make_buffer(false);
    facts_.host_link = {ping_pong(world, *buffer)};
    facts_.host_memory = {memory_speed(world.split(world.node_leader(), 0), *buffer)};
    keep(all_gather_facts(world, facts_));
    if (!options_.data.empty()) {
      begin("read the data set", kReadsFiles);
      facts_.data = read_data(options_.data);
      keep(all_gather_facts(world, facts_));
    }
    plan(world);
    if (world.size() > 1) transfer(world);
  }

  void introduce(Communicator& world) {
    facts_.rank = world.rank();
    facts_.size = world.size();
    facts_.local_rank = world.local_rank();
    facts_.local_size = world.local_size();
    judge_launch(facts_.launch, environment_variable, world.size());
    const CudaSignals signals = read_cuda_signals(environment_variable);
    facts_.awareness = {judge_cuda_awareness(signals), to_string(signals.compiled),
                        to_string(signals.reported)};
    keep(all_gather_facts(world, facts_));
  }

  /// On one rank: the plans of all are the same.
  void plan(Communicator& world) {
    begin("plan the largest batches", kReadsFiles);
    if (world.rank() == 0) {
      const RankFacts& self = ranks_.front();
      LargestBatches largest{self.backend, memory_per_rank(ranks_), {}};
      if (!self.backend.empty()) {
        largest.models = largest_batches(options_.backend, largest.memory_bytes, world.size(),
                                         self.cores.threads, kPlanTime);
      }
      write_line({{"largest_batch", json_of(largest)}});
    }
    world.barrier();
  }

  void transfer(Communicator& world) {
    begin("prepare the transfer", kPlain);
    write_line({{"mailbox", make_mailbox(world)}});
    begin(kTransferStep, kPlain);
    char go = 0;
    while (read(channel_, &go, 1) < 0 && errno == EINTR) continue;
    world.barrier();  // no rank crashes before all reports are out
    const bool device = std::ranges::all_of(ranks_, has_working_gpu);
    const TransferFacts mine = try_transfer(world, device, fault_);
    write_line({{"transfer", json_of(mine)}});
    if (mine.end == End::failed) return;
    write_line({{"transfers", json_of(all_gather_facts(world, mine))}});
  }

  /// On one host in its temporary folder; else in the current one, which hosts
  /// share on most clusters.
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

  /// Keeps the facts of all ranks that are known. The rank that speaks needs
  /// all of them, each other rank its own.
  void keep(Ranks ranks) {
    ranks_ = std::move(ranks);
    share_out_cores(ranks_);
    if (speaks_for_all()) return write_line({{"ranks", json_of(ranks_)}});
    const auto own = ranks_.size() > 1 ? std::size_t(facts_.rank) : 0;
    write_line({{"ranks", json_of(Ranks{ranks_.at(own)})}});
  }

  const DoctorOptions& options_;
  int channel_;
  std::unique_ptr<Session> session_;
  std::string fault_;
  RankFacts facts_;
  Ranks ranks_;
};

}  // namespace

int run_worker(const DoctorOptions& options, const Fault& fault, int channel) {
  std::signal(SIGPIPE, SIG_IGN);
  Worker worker(options, fault, channel);
  try {
    worker.run();
  } catch (const std::exception& error) {
    worker.write_line({{"failed", error.what()}});
    std::_Exit(1);  // peers may wait in a collective, where the end of MPI would wait for them
  }
  return 0;
}

}  // namespace rueda::doctor
