#include "mpi/session/launch_check.hpp"

#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"

using Catch::Matchers::Contains;
using rueda::check_launch;
using rueda::InputError;

namespace {

rueda::Environment environment(std::map<std::string, std::string> variables) {
  return [variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

}  // namespace

TEST_CASE("launches that add up pass", "[launch_check]") {
  CHECK_NOTHROW(check_launch(environment({}), 1));
  CHECK_NOTHROW(check_launch(environment({}), 4));
  CHECK_NOTHROW(check_launch(environment({{"OMPI_COMM_WORLD_SIZE", "4"}}), 4));
  CHECK_NOTHROW(check_launch(environment({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}), 4));
  CHECK_NOTHROW(check_launch(environment({{"SLURM_NTASKS", "1"}, {"SLURM_PROCID", "0"}}), 1));
  CHECK_NOTHROW(check_launch(environment({{"PMI_SIZE", "1"}}), 1));
}

TEST_CASE("an allocation of several tasks does not forbid a run of one rank", "[launch_check]") {
  CHECK_NOTHROW(check_launch(environment({{"SLURM_NTASKS", "4"}}), 1));
  const auto mpirun_n_1 =
      environment({{"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}});
  CHECK_NOTHROW(check_launch(mpirun_n_1, 1));
}

TEST_CASE("mpirun of another make is refused", "[launch_check]") {
  const auto four = environment({{"OMPI_COMM_WORLD_SIZE", "4"}});
  CHECK_THROWS_AS(check_launch(four, 1), InputError);
  CHECK_THROWS_AS(check_launch(four, 2), InputError);
  CHECK_THROWS_WITH(check_launch(four, 1), Contains("OMPI_COMM_WORLD_SIZE=4") &&
                                               Contains("a world of 1") && Contains("mpirun"));
}

TEST_CASE("srun without an MPI plugin is refused", "[launch_check]") {
  const auto four = environment({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "2"}});
  CHECK_THROWS_AS(check_launch(four, 1), InputError);
  CHECK_THROWS_WITH(check_launch(four, 1),
                    Contains("SLURM_NTASKS=4") && Contains("srun --mpi=pmix"));
}

TEST_CASE("a foreign process manager is refused", "[launch_check]") {
  const auto three = environment({{"PMI_SIZE", "3"}, {"PMI_RANK", "1"}});
  CHECK_THROWS_AS(check_launch(three, 1), InputError);
  CHECK_NOTHROW(check_launch(three, 3));
}

TEST_CASE("values that are no numbers say nothing", "[launch_check]") {
  CHECK_NOTHROW(check_launch(environment({{"OMPI_COMM_WORLD_SIZE", ""}}), 1));
  CHECK_NOTHROW(check_launch(environment({{"SLURM_NTASKS", "4(x2)"}, {"SLURM_PROCID", "0"}}), 1));
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
