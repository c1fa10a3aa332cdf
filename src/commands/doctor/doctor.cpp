#include "commands/doctor/doctor.hpp"

#include <iostream>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "commands/doctor/host_notes.hpp"
#include "commands/doctor/process.hpp"
#include "launch/launcher.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "run/console.hpp"
#include "run/run_directory.hpp"
#include "run/wiring/device_choice.hpp"
#include "run/wiring/versions.hpp"

namespace rueda {
namespace doctor {
namespace {

using End = TransferFacts::End;

constexpr int kPollMilliseconds = 100;
constexpr double kUsualStart = 15;    // seconds in which MPI starts nearly everywhere
constexpr double kGraceSeconds = 5;   // to leave MPI, or for the ranks' differences in time
constexpr double kLastSeconds = 0.4;  // mpirun kills a second after its first signal

volatile std::sig_atomic_t interruption = 0;

extern "C" void note_interruption(int signal) { interruption = signal; }

/// The doctor of one rank. It never calls MPI or a driver itself, so that
/// nothing in these can crash or hang it. It starts a worker for them, collects
/// the worker's facts, and limits the time of each step.
class Supervisor {
 public:
  /// `speaks`: this rank writes the report.
  Supervisor(const DoctorOptions& options, const Fault& fault, bool speaks)
      : options_(options),
        speaks_(speaks),
        child_([&](int channel) { return run_worker(options, fault, channel); }) {
    cluster_.data = options.data;
    cluster_.asked_backend = to_string(options.backend);
    cluster_.allow_shared_gpu = options.allow_shared_gpu;
    begin("start a process", 1);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, note_interruption);
    std::signal(SIGPIPE, SIG_IGN);
  }
  ~Supervisor() {
    if (speaks_) mailbox_.remove();
    if (speaks_) notes_.remove();
  }

  /// Returns the exit code when the worker has written its last line or will
  /// write none, and the report is out.
  ExitCode run() {
    while (!done_) {
      if (const auto line = child_.next_line(kPollMilliseconds)) {
        const auto json = parse_json(*line);
        take(JsonView(json));
      } else if (child_.is_silent()) {
        hear_silence(kGraceSeconds);
      } else if (interruption != 0) {
        hear_interruption();
      } else {
        check_time();
      }
    }
    if (mine_ && cluster_.transfers.empty()) compare_notes();
    const ExitCode code = conclude();
    finish();
    return code;
  }

 private:
  void take(const JsonView& line) {
    if (line.has("step")) begin(line.at("step").raw_text(), value_from<int>(line.at("factor")));
    if (line.has("ranks")) read_value(line.at("ranks"), cluster_.ranks);
    if (line.has("ranks") && cluster_.hosts.empty()) introduce_host();
    if (line.has("largest_batch")) read_value(line.at("largest_batch"), cluster_.largest_batch);
    if (line.has("mailbox")) mailbox_ = Mailbox(line.at("mailbox").raw_text(), self().rank);
    if (line.has("transfer")) {
      mine_ = value_from<TransferFacts>(line.at("transfer"));
      done_ = mine_->bad() && mine_->end != End::wrong;  // else the line of all follows
    }
    if (line.has("transfers")) {
      read_value(line.at("transfers"), cluster_.transfers);
      in_transfer_ = false;
    }
    if (line.has("failed")) {
      give_up("failed: " + line.at("failed").raw_text());
      cluster_.progress.own = true;
    }
  }

  /// Leaves what is known before MPI starts: it may be why MPI does not.
  void introduce_host() {
    cluster_.hosts[self().host] = self();
    notes_.put(self());
  }

  void begin(const std::string& step, int factor) {
    cluster_.progress.step = step;
    limit_ = double(options_.timeout) * factor;
    in_transfer_ = step == kTransferStep;
    if (in_transfer_) {
      introduce();
      child_.go();
    }
    step_began_ = watch_.seconds();
  }

  /// The worker has ended, or does so within `seconds`: why?
  void hear_silence(double seconds) {
    done_ = true;
    const Ending& ending = child_.end(seconds);
    if (!in_transfer_) {
      if (!ending.text.empty())
        cluster_.progress.trouble = "ended the process (" + ending.text + ")";
      cluster_.progress.own = true;
    } else if (!mine_) {
      mine_ = how_it_ended(ending);
    }
  }

  TransferFacts how_it_ended(const Ending& ending) const {
    TransferFacts facts{.device = self().device.taken() != nullptr, .detail = {}, .link = {}};
    if (killed_ && ending.signal == SIGKILL) {
      facts.end = stalled_ ? End::stalled : End::waited;
      return facts;
    }
    facts.end = end_by_signal(ending.signal, ending.forced);
    facts.detail = ending.text;
    return facts;
  }

  /// A launcher ends all ranks when one has crashed: the others' notes say which.
  void hear_interruption() {
    if (in_transfer_) return hear_silence(kLastSeconds);
    give_up("was interrupted (" + signal_text(interruption) + ")");
  }

  void check_time() {
    const bool over_time = watch_.seconds() - step_began_ > limit_;
    if (in_transfer_) {
      watch_transfer(over_time);
    } else if (!over_time && is_explained()) {
      give_up(fmt::format("did not end within {:.0f} s", kUsualStart));
    } else if (over_time) {
      give_up(fmt::format("did not end within {:.0f} s", limit_));
      // Every other step waits for all ranks.
      cluster_.progress.own = cluster_.progress.step == kFirstStep;
    }
  }

  /// Whether MPI takes longer than usual to start, and what the hosts left explains it.
  bool is_explained() {
    if (!speaks_ || compared_ || cluster_.progress.step != kStartStep ||
        watch_.seconds() - step_began_ < kUsualStart)
      return false;
    compared_ = true;
    cluster_.hosts.merge(notes_.read());
    return hosts_explain_no_start(cluster_);
  }

  void watch_transfer(bool over_time) {
    if (killed_) return;
    stalled_ = over_time;
    killed_ = stalled_ || mailbox_.is_asked_to_stop();
    if (killed_) child_.send(SIGKILL);  // what it has written until now is still read
  }

  void give_up(const std::string& trouble) {
    cluster_.progress.trouble = trouble;
    done_ = true;
    child_.end(0);
  }

  /// After a transfer that went wrong on this rank: writes it for the others
  /// and, if this rank speaks, reads theirs.
  void compare_notes() {
    mailbox_.put(*mine_);
    if (!killed_) mailbox_.ask_to_stop();
    if (speaks_) return collect(std::size_t(self().size));
    // Until the rank that speaks has read the notes: once this process is gone
    // without its worker having left MPI, launchers end all ranks.
    if (mailbox_.reachable()) {
      return wait(3 * kGraceSeconds, 0, [&] { return !mailbox_.reachable(); });
    }
    if (mine_->end == End::waited) return;
    print_error(fmt::format("rank {} ({}): the transfer ended so: {} {}", self().rank, self().host,
                            to_string(mine_->end), mine_->detail));
  }

  void collect(std::size_t ranks) {
    cluster_.transfers.assign(ranks, {});
    wait(2 * kGraceSeconds, kLastSeconds, [&] { return read_notes() == ranks; });
    cluster_.transfers.at(std::size_t(self().rank)) = *mine_;
  }

  /// How many ranks have written one.
  std::size_t read_notes() {
    std::size_t found = 0;
    for (std::size_t rank = 0; rank < cluster_.transfers.size(); ++rank) {
      const auto note = mailbox_.get(int(rank));
      if (!note) continue;
      cluster_.transfers[rank] = *note;
      ++found;
    }
    return found;
  }

  /// The report comes in two parts, and the file is written with each: the
  /// launcher may end the run when the transfer crashes.
  void introduce() {
    if (!speaks_) return;
    std::cout << harmless(machine_report(cluster_)) << std::flush;
    introduced_ = true;
    ClusterFacts so_far = cluster_;
    so_far.progress.trouble = "ended the whole run";  // what is read if nothing follows
    write(so_far, all_findings(so_far));
  }

  ExitCode conclude() {
    const Progress& progress = cluster_.progress;
    if (speaks_) {
      cluster_.hosts.merge(notes_.read());
      if (!introduced_) std::cout << harmless(machine_report(cluster_));
      const Findings findings = all_findings(cluster_);
      std::cout << harmless(outcome_report(cluster_, findings)) << std::flush;
      write(cluster_, findings);
      if (!works(findings)) return ExitCode::run_failed;
      return ExitCode::done;
    }
    // The rank that speaks knows only that this one does not come.
    if (!progress.trouble.empty() && progress.own) {
      print_error(fmt::format("doctor on rank {} ({}): the step \"{}\" {}", rank_by_launcher(),
                              host_name(), progress.step, progress.trouble));
    }
    return ExitCode::done;
  }

  void write(const ClusterFacts& cluster, const Findings& findings) const {
    if (!options_.json.empty()) write_output(options_.json, report_json(cluster, findings));
  }

  /// Lets the worker leave MPI, which needs the workers of all ranks, and kills it if it does not.
  void finish() {
    if (speaks_) mailbox_.remove();
    wait(kGraceSeconds, 0, [&] { return child_.has_ended(); });
    child_.end(0);
  }

  /// Until `over`, at most so long, and `interrupted` seconds if a signal has come.
  static void wait(double seconds, double interrupted, const std::function<bool()>& over) {
    const Stopwatch watch;
    while (!over()) {
      if (interruption != 0) seconds = interrupted;
      if (watch.seconds() >= seconds) return;
      poll(nullptr, 0, kPollMilliseconds / 5);
    }
  }

  const RankFacts& self() const { return cluster_.ranks.front(); }

  const DoctorOptions& options_;
  bool speaks_;
  ClusterFacts cluster_;
  Child child_;
  Mailbox mailbox_;
  HostNotes notes_{environment_variable};
  bool compared_ = false;  ///< the hosts, while MPI starts
  Stopwatch watch_;
  double step_began_ = 0;
  double limit_ = 0;
  bool done_ = false;
  bool introduced_ = false;
  bool in_transfer_ = false;
  bool stalled_ = false;  ///< this rank's transfer ran out of time
  bool killed_ = false;   ///< this process ended its transfer, out of time or when asked to
  std::optional<TransferFacts> mine_;
};

}  // namespace
}  // namespace doctor

void validate(const DoctorOptions& options) {
  require(options.timeout >= 1 && options.timeout <= 86'400,
          "--timeout must be from 1 to 86400 seconds");
}

int run_doctor(const DoctorOptions& options) {
  const doctor::Fault fault = doctor::asked_fault(environment_variable);
  const bool speaks = speaks_for_all();
  if (speaks) {
    check_output_file("--json", options.json);
    std::cout << "rueda doctor " + harmless(program_version()) + "\n\n" << std::flush;
  }
  return int(doctor::Supervisor(options, fault, speaks).run());
}

}  // namespace rueda
