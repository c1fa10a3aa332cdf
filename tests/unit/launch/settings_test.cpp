#include "launch/settings.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include "../../support/common.hpp"
#include "base/text.hpp"

using namespace rueda;
using test::environment;

namespace {

using Variables = std::map<std::string, std::string>;

/// A home of a user, and the folder of a site's files.
struct Places : test::ScratchDirectory {
  Variables variables{{"HOME", path() / "home"}, {"UCX_CONFIG_DIR", path() / "ucx"}};

  /// As Open MPI names its own files.
  std::vector<std::string> of_open_mpi() const {
    return {path() / "site/openmpi-mca-params-override.conf",
            path() / "home/.openmpi/mca-params.conf", path() / "site/openmpi-mca-params.conf"};
  }
  /// "NAME=VALUE FILE:LINE" of each setting, the file below this folder.
  std::vector<std::string> settings(const std::vector<std::string>& of_open_mpi) const {
    std::vector<std::string> texts;
    const auto files = setting_files(environment(variables), of_open_mpi);
    for (const FileSetting& one : file_settings(environment(variables), files)) {
      std::string_view file = one.file;
      if (!take(file, path().string() + "/")) continue;  // of this machine
      texts.push_back(one.name + "=" + one.value + " " + std::string(file) + ":" +
                      std::to_string(one.line));
    }
    return texts;
  }
  std::vector<std::string> settings() const { return settings(of_open_mpi()); }
};

using Texts = std::vector<std::string>;

TEST_CASE("settings are read from the files of every library, the one that holds first",
          "[settings]") {
  Places places;
  CHECK(places.settings().empty());
  places.write("home/.openmpi/mca-params.conf",
               "# mine\n\n pml = ucx \nbtl=self,tcp\nbtl = self\n");
  places.write("site/openmpi-mca-params.conf", "pml = ob1\nosc = ^ucx\n");
  places.write("site/openmpi-mca-params-override.conf", "coll = basic\n");
  places.write("home/.prte/mca-params.conf", "rmaps_default_mapping_policy = core\n");
  places.write("site/prte-mca-params.conf", "oob = tcp\n");
  places.write("home/.pmix/mca-params.conf", "gds = hash\n");
  places.write("ucx/ucx.conf", "UCX_TLS=tcp\nTLS=all\n[A processor]\nUCX_NET_DEVICES=x\n");
  places.write("home/ucx.conf", "UCX_TLS=all\nUCX_LOG_LEVEL=info\n");
  CHECK(places.settings() ==
        Texts{"OMPI_MCA_coll=basic site/openmpi-mca-params-override.conf:1",
              "OMPI_MCA_pml=ucx home/.openmpi/mca-params.conf:3",
              "OMPI_MCA_btl=self home/.openmpi/mca-params.conf:5",
              "OMPI_MCA_osc=^ucx site/openmpi-mca-params.conf:2",
              "PRTE_MCA_rmaps_default_mapping_policy=core home/.prte/mca-params.conf:1",
              "PRTE_MCA_oob=tcp site/prte-mca-params.conf:1",
              "PMIX_MCA_gds=hash home/.pmix/mca-params.conf:1", "UCX_TLS=tcp ucx/ucx.conf:1",
              "UCX_LOG_LEVEL=info home/ucx.conf:2"});
  // Of Open MPI's files the user's is known without it.
  CHECK(places.settings({}).size() == 6);

  SECTION("a variable holds, but against the file that overrides it") {
    places.variables["OMPI_MCA_pml"] = "cm";
    places.variables["OMPI_MCA_coll"] = "tuned";
    places.variables["OMPI_MCA_btl"] = "self";  // as Open MPI 5 hands it to its ranks
    const Texts settings = places.settings();
    CHECK(std::ranges::count(settings, "OMPI_MCA_pml=ucx home/.openmpi/mca-params.conf:3") == 0);
    CHECK(std::ranges::count(settings, "OMPI_MCA_btl=self home/.openmpi/mca-params.conf:5") == 1);
    CHECK(settings[0] == "OMPI_MCA_coll=basic site/openmpi-mca-params-override.conf:1");
  }
  SECTION("a file that mpirun reads for its ranks counts where they got what it says") {
    const Texts site = {places.path() / "site/openmpi-mca-params.conf"};  // what they read
    const auto count = [&](const char* text) {
      return std::ranges::count(places.settings(site), text);
    };
    CHECK(count("OMPI_MCA_btl=self home/.openmpi/mca-params.conf:5") == 0);
    places.variables["OMPI_MCA_btl"] = "self";
    CHECK(count("OMPI_MCA_btl=self home/.openmpi/mca-params.conf:5") == 1);
    CHECK(count("OMPI_MCA_pml=ob1 site/openmpi-mca-params.conf:1") == 1);
  }
  SECTION("variables name other files") {
    places.write("a.conf", "pml = cm\n");
    places.write("b.conf", "pml = ob1\noob = ud\n");
    const std::string both =
        (places.path() / "a.conf").string() + "," + (places.path() / "b.conf").string();
    for (const char* name : {"OMPI_MCA_mca_base_param_files", "OMPI_MCA_mca_param_files"}) {
      Places other;
      other.variables = {{name, both}};
      const auto files = setting_files(environment(other.variables));
      const auto found = file_settings(environment(other.variables), files);
      REQUIRE(found.size() >= 2);
      CHECK(found[0].value == "cm");
      CHECK(found[1].name == "OMPI_MCA_oob");
    }
    places.variables["PRTE_MCA_mca_base_param_files"] = both;
    const Texts settings = places.settings();
    CHECK(std::ranges::count(settings, "PRTE_MCA_oob=ud b.conf:2") == 1);
    CHECK(std::ranges::count(settings, "PRTE_MCA_oob=tcp site/prte-mca-params.conf:1") == 0);
  }
}

TEST_CASE("files of settings are foreign text", "[settings]") {
  Places places;
  const auto mine = places.write("home/.openmpi/mca-params.conf",
                                 "pml = o\x1b[2Jb1\nno setting\n= nothing\na b = c\n#btl = tcp\n"
                                 "// btl = tcp\nempty =\nlong = " +
                                     std::string(5'000, 'x') + "\nlast = \xff\n");
  const auto files = setting_files(environment(places.variables));
  const auto found = file_settings(environment(places.variables), files);
  REQUIRE(found.size() >= 4);
  CHECK(found[0].value == "o\\x1b[2Jb1");
  CHECK(found[1].own_text() == "empty=");
  CHECK(found[2].value.size() == 1'000);
  CHECK(found[3].own_text() == "last=\\xff");
  CHECK(found[3].line == 9);

  std::string many;
  for (int i = 0; i < 1'000; ++i) many += "a" + std::to_string(i) + " = 1\n";
  places.write("home/.openmpi/mca-params.conf", many);
  CHECK(file_settings(environment(places.variables), files).size() == 200);
  places.write("home/.openmpi/mca-params.conf", "a = 1\n#" + std::string(1'000'000, ' '));
  CHECK(places.settings().empty());
  std::filesystem::remove(mine);
  REQUIRE(mkfifo(mine.c_str(), 0600) == 0);  // which would never end
  CHECK(places.settings().empty());
  std::filesystem::remove(mine);
  std::filesystem::create_directory(mine);
  CHECK(places.settings().empty());
  places.variables.clear();  // no HOME
  CHECK(places.settings({}).empty());
}

TEST_CASE("what steers MPI and threads is found among the variables, a launcher's own left out",
          "[settings]") {
  const Texts before = setting_variables();
  setenv("PMIX_MCA_gds", "hash\x1b[2J", 1);
  setenv("PMIX_MCA_mca_base_component_show_load_errors", "1", 1);  // mpirun's
  setenv("OMPI_MCA_orte_app_num", "0", 1);
  const Texts after = setting_variables();
  for (const char* name :
       {"PMIX_MCA_gds", "PMIX_MCA_mca_base_component_show_load_errors", "OMPI_MCA_orte_app_num"})
    unsetenv(name);
  CHECK(after.size() == before.size() + 1);
  CHECK(std::ranges::count(after, "PMIX_MCA_gds=hash\\x1b[2J") == 1);
}

}  // namespace
