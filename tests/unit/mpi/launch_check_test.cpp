#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <dlfcn.h>

#include "base/error.hpp"
#include "launch/launcher.hpp"
#include "mpi/probes/cuda_awareness.hpp"
#include "mpi/session/session.hpp"
#include "tests/support/common.hpp"

using Catch::Contains;
using namespace rueda;
using test::environment;

namespace {

using Variables = std::map<std::string, std::string>;

/// What Slurm sets for a job script that asked for four tasks: not a task of several.
const Variables kJobScript = {
    {"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}};

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

/// What Slurm sets for a task of a step.
Variables step(int tasks, int rank) {
  return with(kJobScript, {{"SLURM_STEP_NUM_TASKS", std::to_string(tasks)},
                           {"SLURM_NTASKS", std::to_string(tasks)},
                           {"SLURM_PROCID", std::to_string(rank)},
                           {"SLURM_LOCALID", std::to_string(rank)}});
}

TEST_CASE("launches that add up pass, others are refused", "[launch_check]") {
  struct Case {
    Variables variables;
    int size;
    std::vector<const char*> words = {};  ///< none: it passes
  };
  for (const Case& c : std::vector<Case>{
           {{}, 1},
           {{}, 4},
           {{{"OMPI_COMM_WORLD_SIZE", "4"}}, 4},
           {step(4, 0), 4},
           {step(1, 0), 1},
           {{{"PMI_SIZE", "1"}}, 1},
           {{{"PMI_SIZE", "3"}, {"PMI_RANK", "1"}}, 3},
           // An allocation of several tasks does not forbid a run of one rank: in salloc's shell, a
           // job script, notebook or desktop, in an interactive step, below any mpiexec.
           {{{"SLURM_NTASKS", "4"}}, 1},
           {kJobScript, 1},
           {with(kJobScript, {{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_STEP_ID", "0"}}), 1},
           {with(kJobScript, {{"OMPI_COMM_WORLD_SIZE", "1"}}), 1},
           {with(kJobScript, {{"PMI_SIZE", "1"}, {"PMI_RANK", "0"}}), 1},
           {with(kJobScript, {{"MV2_COMM_WORLD_SIZE", "1"}, {"MV2_COMM_WORLD_RANK", "0"}}), 1},
           {with(step(4, 2), {{"PMI_SIZE", "1"}, {"PMI_RANK", "0"}}), 1},
           // Values that are no numbers say nothing.
           {{{"OMPI_COMM_WORLD_SIZE", ""}}, 1},
           {{{"SLURM_STEP_NUM_TASKS", "4(x2)"}, {"SLURM_PROCID", "0"}}, 1},
           // mpirun of another make, srun without a plugin, a foreign process manager.
           {{{"OMPI_COMM_WORLD_SIZE", "4"}},
            1,
            {"OMPI_COMM_WORLD_SIZE=4", "a world of 1", "mpirun"}},
           {{{"OMPI_COMM_WORLD_SIZE", "4"}}, 2, {"a world of 2"}},
           {step(4, 2), 1, {"SLURM_STEP_NUM_TASKS=4", "srun --mpi=pmix", "srun --mpi=pmi2"}},
           {with(step(4, 2), {{"PMI_SIZE", "4"}, {"PMI_RANK", "2"}}), 1, {"Slurm started 4"}},
           {{{"PMI_SIZE", "3"}, {"PMI_RANK", "1"}}, 1, {"PMI_SIZE=3"}},
           {with(kJobScript, {{"PMI_SIZE", "3"}, {"PMI_RANK", "1"}}), 1, {"PMI_SIZE=3"}},
           {{{"MV2_COMM_WORLD_SIZE", "3"}}, 1, {"MV2_COMM_WORLD_SIZE=3"}},
           // Launchers that know nothing of MPI; a WORLD_SIZE alone may be of the shell.
           {{{"WORLD_SIZE", "2"}}, 1},
           {{{"WORLD_SIZE", "1"}, {"RANK", "0"}}, 1},
           {{{"OMPI_COMM_WORLD_SIZE", "1"}, {"WORLD_SIZE", "2"}, {"RANK", "0"}}, 1},
           {{{"WORLD_SIZE", "2"}, {"RANK", "0"}}, 2},
           {{{"WORLD_SIZE", "2"}, {"RANK", "1"}},
            1,
            {"torchrun", "WORLD_SIZE=2", "mpirun -n 2 rueda train"}},
           {{{"HOROVOD_SIZE", "3"}, {"HOROVOD_RANK", "0"}},
            1,
            {"horovodrun", "HOROVOD_SIZE=3", "mpirun -n 3 rueda train"}}}) {
    const auto check = [&] { check_launch(environment(c.variables), c.size); };
    CAPTURE(c.variables, c.size);
    if (c.words.empty()) CHECK_NOTHROW(check());
    if (!c.words.empty()) CHECK_THROWS_AS(check(), InputError);
    for (const char* words : c.words) CHECK_THROWS_WITH(check(), Contains(words));
  }
}

TEST_CASE("a step of srun without PMIx is told, and nothing else", "[launch_check]") {
  const Variables in_step = with(step(2, 0), {{"SLURM_STEP_ID", "0"}});
  const auto told = [](const Variables& variables) { return missing_pmix(environment(variables)); };
  CHECK_THAT(told(in_step), Contains("srun --mpi=pmix"));
  CHECK_THAT(told(with(in_step, {{"PMI_SIZE", "2"}, {"PMI_RANK", "0"}})), Contains("srun"));
  CHECK(told(with(in_step, {{"PMIX_NAMESPACE", "slurm.pmix.7.0"}})).empty());
  CHECK(told(with(in_step, {{"OMPI_COMM_WORLD_SIZE", "2"}})).empty());
  CHECK(told(kJobScript).empty());
  CHECK(told({}).empty());
}

TEST_CASE("the launcher's rank tells who speaks", "[launch_check]") {
  CHECK(launcher_rank(environment({})) == 0);
  CHECK(launcher_rank(environment({{"SLURM_PROCID", "3"}})) == 3);
  CHECK(launcher_rank(environment({{"PMI_RANK", "2"}})) == 2);
  CHECK(launcher_rank(environment({{"RANK", "2"}})) == 0);
  CHECK(launcher_rank(environment({{"RANK", "2"}, {"TORCHELASTIC_RUN_ID", "none"}})) == 2);
  CHECK(launcher_rank(environment({{"OMPI_COMM_WORLD_RANK", "1"}, {"SLURM_PROCID", "0"}})) == 1);
  // Ranks of another MPI's mpiexec in a job script, and on a node that it reached by srun.
  const Variables hydra = {{"PMI_SIZE", "8"}, {"PMI_RANK", "3"}};
  CHECK(launcher_rank(environment(with(kJobScript, hydra))) == 3);
  CHECK(launcher_rank(environment(with(step(2, 1), hydra))) == 3);
}

TEST_CASE("who started a process, and how many, is asked of the launcher, not of the allocation",
          "[launch_check]") {
  const auto told = [](const Variables& variables) {
    const auto launch = launch_of(environment(variables));
    if (!launch) return std::string("nobody");
    return launch->launcher + " " + std::to_string(launch->size) + " by " + launch->told_by;
  };
  CHECK(told({}) == "nobody");
  CHECK(told(kJobScript) == "nobody");
  CHECK(told(step(4, 1)) == "srun 4 by SLURM_STEP_NUM_TASKS");
  CHECK(told(with(step(4, 1), {{"PMI_SIZE", "4"}, {"PMI_RANK", "1"}})) ==
        "srun 4 by SLURM_STEP_NUM_TASKS");
  const Variables hydra = {{"PMI_SIZE", "8"}, {"PMI_RANK", "3"}};
  CHECK(told(with(step(2, 1), hydra)) == "the launcher 8 by PMI_SIZE");
  CHECK(told(with(kJobScript, hydra)) == "the launcher 8 by PMI_SIZE");
  CHECK(told(with(step(2, 1), {{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "1"}})) ==
        "mpirun 2 by OMPI_COMM_WORLD_SIZE");
}

TEST_CASE("every launcher's local rank is found", "[launch_check]") {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK",
                           "MPI_LOCALRANKID", "PALS_LOCAL_RANKID", "PMI_LOCAL_RANK"}) {
    CAPTURE(name);
    CHECK(launcher_local_rank(environment({{name, "3"}})) == 3);
    // Slurm's below mpirun is that of mpirun's own daemon.
    CHECK(launcher_local_rank(environment(with(step(2, 0), {{name, "2"}}))) == 2);
  }
  CHECK(launcher_local_rank(environment(step(4, 3))) == 3);
  CHECK_FALSE(launcher_local_rank(environment({})).has_value());
  CHECK_FALSE(launcher_local_rank(environment(kJobScript)).has_value());
  CHECK_FALSE(
      launcher_local_rank(environment(with(step(4, 3), {{"SLURM_LOCALID", "x"}}))).has_value());
}

CudaSignals open_mpi(Answer compiled, Answer reported, Answer parameter) {
  return {.library = "Open MPI v4.1.4, package: Open MPI",
          .compiled = compiled,
          .reported = reported,
          .parameter = parameter,
          .ucx_transports = ""};
}

CudaSignals cray(Answer reported, Answer enabled) {
  return {.library = "MPI VERSION    : CRAY MPICH version 8.1.29.2 (ANL base 3.4a2)",
          .reported = reported,
          .cray_enabled = enabled,
          .ucx_transports = ""};
}

CudaSignals mvapich(Answer compiled, Answer reported, Answer enabled) {
  return {.library = "MVAPICH2-GDR Version : 2.3.7",
          .compiled = compiled,
          .reported = reported,
          .mvapich_enabled = enabled,
          .ucx_transports = ""};
}

CudaSignals mpich(Answer reported) {
  return {.library = "MPICH Version:      4.0.2", .reported = reported, .ucx_transports = ""};
}

TEST_CASE("MPI takes GPU memory or not, for a reason of one line", "[cuda_verdict]") {
  constexpr Answer yes = Answer::yes, no = Answer::no, unknown = Answer::unknown;
  const auto ucx = [](const char* transports) {
    auto signals = open_mpi(yes, yes, yes);
    signals.ucx_transports = transports;
    return signals;
  };
  struct Case {
    CudaSignals signals;
    bool aware;
    const char* words = "";
  };
  for (const Case& c :
       std::vector<Case>{// The library that runs outweighs the headers.
                         {open_mpi(yes, yes, yes), true},
                         {open_mpi(yes, yes, unknown), true},
                         {open_mpi(no, no, unknown), false},
                         {open_mpi(unknown, unknown, yes), false},
                         {open_mpi(yes, no, yes), false},
                         {open_mpi(no, yes, yes), true, "another build"},
                         // Support that is switched off is named with the switch.
                         {open_mpi(yes, yes, no), false, "OMPI_MCA_opal_cuda_support=true"},
                         {cray(yes, no), false, "MPICH_GPU_SUPPORT_ENABLED=1"},
                         {cray(yes, unknown), false, "MPICH_GPU_SUPPORT_ENABLED=1"},
                         {mvapich(yes, yes, no), false, "MV2_USE_CUDA=1"},
                         {mvapich(yes, yes, unknown), false, "MV2_USE_CUDA=1"},
                         // MPICH and its kin answer for themselves.
                         {mpich(yes), true},
                         {mpich(no), false},
                         {mpich(unknown), false},
                         {cray(yes, yes), true},
                         {cray(no, yes), false},
                         {cray(unknown, yes), false},
                         {mvapich(unknown, unknown, yes), true},
                         {mvapich(no, unknown, yes), false},
                         {mvapich(yes, no, yes), false},
                         // UCX without a transport for CUDA is refused, whatever MPI says.
                         {ucx("rc,sm,self"), false, "UCX_TLS=rc,sm,self"},
                         {ucx("rc,sm,cuda_copy,cuda_ipc"), true}}) {
    const auto verdict = judge_cuda_awareness(c.signals);
    CAPTURE(c.signals.library, verdict.why);
    CHECK(verdict.aware == c.aware);
    CHECK_THAT(verdict.why, Contains(c.words));
    CHECK_FALSE(verdict.why.empty());
    CHECK(verdict.why.find('\n') == std::string::npos);
  }
}

TEST_CASE("a UCX that overlooks the CUDA runtime of a program gets no GPU memory",
          "[cuda_verdict]") {
  struct Case {
    UcxVersion ucx;
    const char* cache;
    bool aware;
  };
  for (const Case& c : std::vector<Case>{{{0, 0, 0}, "", true},
                                         {{1, 13, 0}, "", true},
                                         {{1, 12, 9}, "", false},
                                         {{1, 8, 20}, "", false},
                                         {{2, 0, 0}, "", true},
                                         {{1, 12, 1}, "n", true},
                                         {{1, 12, 1}, "No", true},
                                         {{1, 12, 1}, "y", false},
                                         {{1, 12, 1}, "try", false}}) {
    CudaSignals signals = open_mpi(Answer::yes, Answer::yes, Answer::yes);
    signals.ucx = c.ucx;
    signals.ucx_memory_cache = c.cache;
    const auto verdict = judge_cuda_awareness(signals);
    CAPTURE(c.ucx.major, c.ucx.minor, c.cache, verdict.why);
    CHECK(verdict.aware == c.aware);
    CHECK(verdict.may_crash == !c.aware);
    if (!c.aware) {
      const auto version = "UCX " + std::to_string(c.ucx.major) + "." + std::to_string(c.ucx.minor);
      CHECK_THAT(verdict.why, Contains(version) && Contains("export UCX_MEMTYPE_CACHE=n"));
    }
  }
  // An MPI that takes no GPU memory is said so.
  CudaSignals unaware = open_mpi(Answer::no, Answer::no, Answer::yes);
  unaware.ucx = {1, 12, 1};
  CHECK_FALSE(judge_cuda_awareness(unaware).may_crash);
}

TEST_CASE("the version of a loaded UCX is read, and none is loaded for it", "[cuda_verdict]") {
  CHECK(loaded_ucx_version().major == 0);
  const auto made = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libucp.so.0";
  void* const library = dlopen(made.c_str(), RTLD_NOW);
  REQUIRE(library != nullptr);
  const UcxVersion version = loaded_ucx_version();
  CHECK(version.major == 1);
  CHECK(version.minor == 12);
  CHECK(version.release == 3);
  dlclose(library);
  CHECK(loaded_ucx_version().major == 0);
}

TEST_CASE("UCX_TLS is read as UCX reads it", "[cuda_verdict]") {
  for (const char* with : {"", "all", "cuda", "sm,cuda", "rc,gdr_copy", "^tcp", "^tcp,sm",
                           "rc:aux,cuda_ipc", "\\cuda_copy"}) {
    CAPTURE(with);
    CHECK(admits_cuda(with));
  }
  for (const char* without : {"sm", "rc,sm,self", "^cuda", "^tcp,cuda_ipc", "cudas"}) {
    CAPTURE(without);
    CHECK_FALSE(admits_cuda(without));
  }
}

TEST_CASE("an answer has a word", "[cuda_verdict]") {
  CHECK(std::string(to_string(Answer::yes)) == "yes");
  CHECK(std::string(to_string(Answer::no)) == "no");
  CHECK(std::string(to_string(Answer::unknown)) == "unknown");
}

}  // namespace
