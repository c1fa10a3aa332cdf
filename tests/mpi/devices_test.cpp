#include <chrono>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include <catch2/catch.hpp>
#include <mpi.h>

#include "base/error.hpp"
#include "mpi/probes/cuda_awareness.hpp"
#include "mpi/probes/parameter_files.hpp"
#include "mpi/session/communicator.hpp"
#include "mpi/session/mpi_call.hpp"
#include "mpi/session/session.hpp"
#include "mpi/session/watchdog.hpp"
#include "run/wiring/device_choice.hpp"
#include "run/wiring/transport.hpp"
#include "tests/support/common.hpp"
#include "tests/support/host_reduce_device.hpp"
#include "tests/support/logged_text.hpp"
#include "tests/support/mpi_check.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

// What ranks agree on about their GPUs, with GPUs that are made up.
std::string uuid(int number) { return "GPU-" + std::to_string(number); }

TEST_CASE("ranks with a GPU each pass without a remark", "[devices]") {
  Communicator comm;
  LoggedText logged(comm.rank());
  check_shared_devices(comm, {comm.host(), uuid(comm.rank())}, false);
  check_shared_devices(comm, {comm.host(), ""}, false);
  CHECK_ON_ALL_RANKS(logged.take().empty());
}

TEST_CASE("the first and the last rank on one GPU are refused by all", "[devices]") {
  Communicator comm;
  const int last = comm.size() - 1;
  const int gpu = comm.rank() == last ? 0 : comm.rank();
  const auto message = message_of<InputError>([&] {
    check_shared_devices(comm, {comm.host(), uuid(gpu)}, false);
  });
  const std::string who = "ranks 0 and " + std::to_string(last) + " on GPU-0 of " + comm.host();
  const bool alone = comm.size() == 1;
  CHECK_ON_ALL_RANKS(alone ? message.empty() : contains(message, who));
  CHECK_ON_ALL_RANKS(alone || contains(message, "--allow-shared-gpu"));
  CHECK_ON_ALL_RANKS(alone || contains(message, "--gres"));
}

TEST_CASE("sharing that is allowed is remarked once; GPUs of different hosts are different",
          "[devices]") {
  Communicator comm;
  LoggedText logged(comm.rank());
  check_shared_devices(comm, {comm.host(), uuid(0)}, true);
  CHECK_ON_ALL_RANKS(logged.take().empty() == (comm.size() == 1 || comm.rank() != 0));
  const std::string host = "node" + std::to_string(comm.rank());
  check_shared_devices(comm, {host, uuid(0)}, false);
  CHECK_ON_ALL_RANKS(logged.take().empty());
}

TEST_CASE("ranks agree on host memory without staging", "[devices]") {
  Communicator comm;
  const HostReduceDevice device;
  const auto decision = agree_on_transport(comm, TransportChoice::automatic, device);
  CHECK_ON_ALL_RANKS(decision.transport == Transport::host);
  CHECK_ON_ALL_RANKS(decision.warning.empty());
}

TEST_CASE("all ranks stage as soon as one has to", "[devices]") {
  Communicator comm;
  const LazyReduceDevice device;  // whose memory is not the host's
  const int last = comm.size() - 1;
  const auto mine = comm.rank() == last ? TransportChoice::staged : TransportChoice::device;
  const auto decision = agree_on_transport(comm, mine, device);
  CHECK_ON_ALL_RANKS(decision.transport == Transport::staged);
}

TEST_CASE("all ranks decide alike about device memory, and one warns", "[devices]") {
  Communicator comm;
  const LazyReduceDevice device;
  const auto decision = agree_on_transport(comm, TransportChoice::automatic, device);
  const auto words = all_gather_text(comm, to_string(decision.transport));
  CHECK_ON_ALL_RANKS(std::set(words.begin(), words.end()).size() == 1);
  CHECK_ON_ALL_RANKS(decision.transport != Transport::host);
  const bool warns = decision.transport == Transport::staged && comm.size() > 1;
  CHECK_ON_ALL_RANKS(decision.warning.empty() != (warns && comm.rank() == 0));
}

constexpr const char* kVariable = "OMPI_MCA_btl_tcp_flags";

/// What MPI itself says of a setting that is a number; nothing if it has no such setting.
std::optional<int> mpi_setting(const char* name) {
  int provided = 0;
  int index = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return {};
  std::optional<int> value;
  if (MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS) {
    MPI_T_cvar_handle handle{};
    int count = 0;
    unsigned bits = 0;
    MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count);
    if (MPI_T_cvar_read(handle, &bits) == MPI_SUCCESS) value = int(bits);
    MPI_T_cvar_handle_free(&handle);
  }
  MPI_T_finalize();
  return value;
}

TEST_CASE("the session has Open MPI send over TCP, unless the user says otherwise", "[tcp]") {
  // Without TCP among the transports, or with another MPI, there is no such setting.
  const auto flags = mpi_setting("btl_tcp_flags");
  CHECK_ON_ALL_RANKS(!flags || *flags == 0x1);
  const char* seen = std::getenv(kVariable);
  CHECK_ON_ALL_RANKS(seen != nullptr && std::string(seen) == "0x1");
  setenv(kVariable, "0x3", 1);
  rueda::prefer_tcp_streams();
  const std::string kept = std::getenv(kVariable);
  setenv(kVariable, "0x1", 1);  // as the session left it
  CHECK_ON_ALL_RANKS(kept == "0x3");
}

TEST_CASE("the session overrides nothing in the user's file", "[tcp]") {
  const ScratchDirectory home;
  home.write(".openmpi/mca-params.conf", "btl_tcp_flags = 0x3\nosc = sm\n");
  const std::string before = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  setenv("HOME", home.path().c_str(), 1);
  for (const char* name : {kVariable, "OMPI_MCA_osc"}) unsetenv(name);
  rueda::prefer_tcp_streams();
  rueda::leave_ucx_out_of_windows();
  const bool kept = std::getenv(kVariable) == nullptr && std::getenv("OMPI_MCA_osc") == nullptr;
  setenv("HOME", before.c_str(), 1);
  setenv(kVariable, "0x1", 1);  // as the session left them
  setenv("OMPI_MCA_osc", "^ucx", 1);
  CHECK_ON_ALL_RANKS(kept);
}

TEST_CASE("the session has Open MPI ask UCX for no window, unless the user says otherwise",
          "[tcp]") {
  const char* mine = std::getenv("OMPI_MCA_osc");
  CHECK_ON_ALL_RANKS(mine != nullptr && std::string(mine) == "^ucx");
  setenv("OMPI_MCA_osc", "sm", 1);
  rueda::leave_ucx_out_of_windows();
  const std::string kept = std::getenv("OMPI_MCA_osc");
  setenv("OMPI_MCA_osc", "^ucx", 1);  // as the session left it
  CHECK_ON_ALL_RANKS(kept == "sm");
}

const char* no_variable(const char*) { return nullptr; }

const char* some_variables(const char* name) {
  const std::string asked = name;
  if (asked == "MPICH_GPU_SUPPORT_ENABLED") return "1";
  if (asked == "MV2_USE_CUDA") return "0";
  return asked == "UCX_TLS" ? "rc,sm" : nullptr;
}

TEST_CASE("UCX_TLS is read from UCX's file, too, which a variable overrides", "[cuda_awareness]") {
  const ScratchDirectory folder;
  folder.write("ucx.conf", "UCX_TLS=rc,sm\n");
  const std::string place = folder.path();
  const auto signals = read_cuda_signals(environment({{"UCX_CONFIG_DIR", place}}));
  CHECK_ON_ALL_RANKS(signals.ucx_transports == "rc,sm");
  CHECK_ON_ALL_RANKS(contains(judge_cuda_awareness(signals).why,
                              "UCX_TLS=rc,sm (line 1 of " + place + "/ucx.conf) leaves"));
  const auto set = environment({{"UCX_CONFIG_DIR", place}, {"UCX_TLS", "all"}});
  CHECK_ON_ALL_RANKS(read_cuda_signals(set).ucx_transports == "all");
  CHECK_ON_ALL_RANKS(signals.ucx_memory_cache.empty());
  folder.write("ucx.conf", "UCX_MEMTYPE_CACHE=n\n");
  const auto off = read_cuda_signals(environment({{"UCX_CONFIG_DIR", place}}));
  CHECK_ON_ALL_RANKS(off.ucx_memory_cache == "n");
}

TEST_CASE("Open MPI names the files of its settings", "[settings]") {
  const auto files = open_mpi_parameter_files();
  const bool open_mpi = contains(mpi_library_version(), "Open MPI");
  CHECK_ON_ALL_RANKS(files.empty() == !open_mpi);
  CHECK_ON_ALL_RANKS(files.empty() || contains(files.front(), "openmpi-mca-params-override.conf"));
}

TEST_CASE("MPI can be asked about GPU memory, and the environment is read", "[cuda_awareness]") {
  const auto once = read_cuda_signals(no_variable);
  const auto again = read_cuda_signals(no_variable);
  CHECK_ON_ALL_RANKS(once.library == mpi_library_version());
  CHECK_ON_ALL_RANKS(once.compiled == again.compiled);
  CHECK_ON_ALL_RANKS(once.reported == again.reported);
  CHECK_ON_ALL_RANKS(once.parameter == again.parameter);
  CHECK_ON_ALL_RANKS(once.cray_enabled == Answer::unknown);
  CHECK_ON_ALL_RANKS(once.mvapich_enabled == Answer::unknown);
  CHECK_ON_ALL_RANKS(once.ucx_transports.empty());
  // Open MPI answers by macro, query and parameter.
  const bool open_mpi = contains(once.library, "Open MPI");
  CHECK_ON_ALL_RANKS(!open_mpi || once.compiled != Answer::unknown);
  CHECK_ON_ALL_RANKS(!open_mpi || once.reported != Answer::unknown);
  CHECK_ON_ALL_RANKS(!contains(once.library, "Open MPI v4") || once.parameter != Answer::unknown);
  // Another MPI has no such parameter; MPICH from 4 on answers the query and has no macro of Open
  // MPI.
  CHECK_ON_ALL_RANKS(open_mpi || once.parameter == Answer::unknown);
#if defined(MPIX_GPU_SUPPORT_CUDA)
  CHECK_ON_ALL_RANKS(once.reported != Answer::unknown && once.compiled == Answer::unknown);
#elif !defined(OPEN_MPI)
  CHECK_ON_ALL_RANKS(once.reported == once.compiled);
#endif
  const auto signals = read_cuda_signals(some_variables);
  CHECK_ON_ALL_RANKS(signals.cray_enabled == Answer::yes);
  CHECK_ON_ALL_RANKS(signals.mvapich_enabled == Answer::no);
  CHECK_ON_ALL_RANKS(signals.ucx_transports == "rc,sm");
}

TEST_CASE("a stall is described with its place and peers") {
  const ReduceJournal journal;
  const Watched rank{.rank = 1, .host = "h0", .journal = journal};
  const ReduceNow now{.act = {ReduceAct::Kind::transfer, "reduce-scatter", 0, 2, 0},
                      .train_step = 17,
                      .bucket = 2,
                      .since = {}};
  CHECK_ON_ALL_RANKS(describe_stall(rank, "MPI_Sendrecv", 121.7, now) ==
                     "the ring is stuck. rank 1 on h0: in MPI_Sendrecv for 121 s: step 17, "
                     "bucket 2, reduce-scatter step 0, sends to rank 2, receives from rank 0");
  CHECK_ON_ALL_RANKS(describe_stall(rank, "MPI_Barrier", 3, {}) ==
                     "stuck outside the ring. rank 1 on h0: in MPI_Barrier for 3 s");
}

TEST_CASE("a journal shows what goes on, adds up times and keeps acts if asked") {
  ReduceJournal journal;
  journal.at(5, 1);
  journal.keep_spans(true);
  {
    const auto entry = journal.transfer("all-gather", 3, 1, 2);
    const ReduceNow now = journal.now();
    CHECK_ON_ALL_RANKS(now.act.kind == ReduceAct::Kind::transfer);
    CHECK_ON_ALL_RANKS(now.act.phase == std::string("all-gather"));
    CHECK_ON_ALL_RANKS((now.act.step == 3 && now.act.to == 1 && now.act.from == 2));
    CHECK_ON_ALL_RANKS((now.train_step == 5 && now.bucket == 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  CHECK_ON_ALL_RANKS(journal.now().act.kind == ReduceAct::Kind::none);
  { const auto entry = journal.add("all-gather", 3); }
  const auto spans = journal.take_spans();
  CHECK_ON_ALL_RANKS(spans.size() == 2);
  CHECK_ON_ALL_RANKS(spans[0].end - spans[0].begin >= std::chrono::milliseconds(2));
  CHECK_ON_ALL_RANKS((spans[1].act.kind == ReduceAct::Kind::add && spans[1].bucket == 1));
  const ReduceTimes times = journal.take_times();
  CHECK_ON_ALL_RANKS(times.transfer >= 0.002);
  CHECK_ON_ALL_RANKS(times.add < times.transfer);
  CHECK_ON_ALL_RANKS(journal.take_times().transfer == 0);
  journal.keep_spans(false);
  { const auto entry = journal.add("all-gather", 3); }
  CHECK_ON_ALL_RANKS(journal.take_spans().empty());
}

TEST_CASE("an act that an error ends stays the current one, as the sum got no further") {
  ReduceJournal journal;
  try {
    const auto entry = journal.transfer("all-gather", 3, 1, 2);
    throw RunError("the peer is gone");
  } catch (const RunError&) {
  }
  CHECK_ON_ALL_RANKS(journal.now().act.kind == ReduceAct::Kind::transfer);
  CHECK_ON_ALL_RANKS(journal.take_times().transfer == 0);
}

TEST_CASE("a watchdog over a group that moves lets it go on") {
  ReduceJournal journal;
  const Watchdog dog({.rank = 0, .host = "h", .journal = journal, .seconds = 1.5});
  for (int i = 0; i < 8; ++i) {  // longer than the limit, but no call of it is
    const MpiCall call("MPI_Something");
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
  }
}

}  // namespace
