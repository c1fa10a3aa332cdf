#include "mpi/session/launch_check.hpp"

#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"

using Catch::Matchers::Contains;
using rueda::check_launch;
using rueda::InputError;

namespace {

using Variables = std::map<std::string, std::string>;

rueda::Environment environment(Variables variables) {
  return [variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

}  // namespace

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
           {{{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}, 4},
           {{{"SLURM_NTASKS", "1"}, {"SLURM_PROCID", "0"}}, 1},
           {{{"PMI_SIZE", "1"}}, 1},
           {{{"PMI_SIZE", "3"}, {"PMI_RANK", "1"}}, 3},
           // An allocation of several tasks does not forbid a run of one rank.
           {{{"SLURM_NTASKS", "4"}}, 1},
           {{{"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}, 1},
           // Values that are no numbers say nothing.
           {{{"OMPI_COMM_WORLD_SIZE", ""}}, 1},
           {{{"SLURM_NTASKS", "4(x2)"}, {"SLURM_PROCID", "0"}}, 1},
           // mpirun of another make, srun without a plugin, a foreign process manager.
           {{{"OMPI_COMM_WORLD_SIZE", "4"}},
            1,
            {"OMPI_COMM_WORLD_SIZE=4", "a world of 1", "mpirun"}},
           {{{"OMPI_COMM_WORLD_SIZE", "4"}}, 2, {"a world of 2"}},
           {{{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "2"}},
            1,
            {"SLURM_NTASKS=4", "srun --mpi=pmix"}},
           {{{"PMI_SIZE", "3"}, {"PMI_RANK", "1"}}, 1, {"PMI_SIZE=3"}}}) {
    const auto check = [&] { check_launch(environment(c.variables), c.size); };
    CAPTURE(c.variables, c.size);
    if (c.words.empty()) CHECK_NOTHROW(check());
    if (!c.words.empty()) CHECK_THROWS_AS(check(), InputError);
    for (const char* words : c.words) CHECK_THROWS_WITH(check(), Contains(words));
  }
}

TEST_CASE("the launcher's rank tells who speaks", "[launch_check]") {
  CHECK(rueda::launcher_rank(environment({})) == 0);
  CHECK(rueda::launcher_rank(environment({{"SLURM_PROCID", "3"}})) == 3);
  CHECK(rueda::launcher_rank(environment({{"PMI_RANK", "2"}})) == 2);
  CHECK(rueda::launcher_rank(environment({{"OMPI_COMM_WORLD_RANK", "1"}, {"SLURM_PROCID", "0"}})) ==
        1);
}

TEST_CASE("every launcher's local rank is found", "[launch_check]") {
  using rueda::launcher_local_rank;
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
        "PALS_LOCAL_RANKID", "PMI_LOCAL_RANK", "SLURM_LOCALID"}) {
    CAPTURE(name);
    CHECK(launcher_local_rank(environment({{name, "3"}})) == 3);
  }
  CHECK_FALSE(launcher_local_rank(environment({})).has_value());
  CHECK_FALSE(launcher_local_rank(environment({{"SLURM_LOCALID", "x"}})).has_value());
}

TEST_CASE("below mpirun Slurm's local rank is its daemon's", "[launch_check]") {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK",
                           "MPI_LOCALRANKID", "PALS_LOCAL_RANKID", "PMI_LOCAL_RANK"}) {
    CAPTURE(name);
    CHECK(rueda::launcher_local_rank(environment({{"SLURM_LOCALID", "0"}, {name, "2"}})) == 2);
  }
}
