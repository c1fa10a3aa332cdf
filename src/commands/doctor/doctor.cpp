#include "doctor.hpp"

#include <iostream>

#include "facts_json.hpp"
#include "findings.hpp"
#include "report.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/files.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "run/log.hpp"
#include "run/run_directory.hpp"
#include "supervisor.hpp"
#include "wiring/device_choice.hpp"
#include "wiring/version.hpp"

namespace rueda {
namespace {

/// What went wrong on a rank that does not speak. The rank that speaks knows only that this one
/// does not come.
void print_own_trouble(const doctor::ClusterFacts& cluster) {
  const doctor::Progress& progress = cluster.progress;
  if (progress.trouble.empty() || !progress.own) return;
  print_error("doctor on rank " + std::to_string(rank_by_launcher()) + " (" + host_name() +
              "): the step \"" + progress.step + "\" " + progress.trouble);
}

/// Prints the report in two parts and writes the file with each: the launcher may end the run when
/// the transfer crashes.
class Speaker {
 public:
  explicit Speaker(const DoctorOptions& options) : json_(options.json) {
    std::cout << "rueda doctor " << program_version() << "\n\n" << std::flush;
  }

  void before_transfer(const doctor::ClusterFacts& cluster) {
    std::cout << doctor::machine_report(cluster) << std::flush;
    introduced_ = true;
    doctor::ClusterFacts so_far = cluster;
    so_far.progress.trouble = "ended the whole run";  // what is read if nothing follows
    write(so_far, doctor::all_findings(so_far));
  }

  int conclude(const doctor::ClusterFacts& cluster) {
    if (!introduced_) std::cout << doctor::machine_report(cluster);
    const doctor::Findings findings = doctor::all_findings(cluster);
    std::cout << doctor::outcome_report(cluster, findings) << std::flush;
    write(cluster, findings);
    return static_cast<int>(doctor::works(findings) ? ExitCode::done : ExitCode::run_failed);
  }

 private:
  void write(const doctor::ClusterFacts& cluster, const doctor::Findings& findings) const {
    if (!json_.empty()) write_atomically(json_, doctor::report_json(cluster, findings));
  }

  std::string json_;
  bool introduced_ = false;
};

}  // namespace

int run_doctor(const DoctorOptions& options) {
  if (!speaks_for_all()) {
    doctor::Supervisor supervisor(options, false, [](const doctor::ClusterFacts&) {});
    print_own_trouble(supervisor.run());
    supervisor.finish();
    return static_cast<int>(ExitCode::done);
  }
  check_output_file("--json", options.json);
  Speaker speaker(options);
  doctor::Supervisor supervisor(options, true, [&](const doctor::ClusterFacts& cluster) {
    speaker.before_transfer(cluster);
  });
  const int code = speaker.conclude(supervisor.run());
  supervisor.finish();
  return code;
}

}  // namespace rueda
