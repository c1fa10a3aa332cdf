#include "supervisor.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>

#include <poll.h>
#include <spdlog/fmt/fmt.h>

#include "facts_json.hpp"
#include "run/log.hpp"

namespace rueda::doctor {
namespace {

using End = TransferFacts::End;

constexpr int kPollMilliseconds = 100;
constexpr double kGraceSeconds = 5;   // to leave a transfer, or for the ranks' differences in time
constexpr double kLastSeconds = 0.4;  // mpirun kills a second after its first signal

volatile std::sig_atomic_t interruption = 0;

extern "C" void note_interruption(int signal) { interruption = signal; }

void listen_to_interruptions() {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    struct sigaction action {};
    action.sa_handler = note_interruption;
    sigaction(signal, &action, nullptr);
  }
  std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace

Supervisor::Supervisor(const DoctorOptions& options, bool speaks,
                       std::function<void(const ClusterFacts&)> before_transfer)
    : options_(options),
      speaks_(speaks),
      before_transfer_(std::move(before_transfer)),
      child_([&](WorkerPipes pipes) { return run_worker(options, pipes); }) {
  cluster_.data = options.data;
  cluster_.asked_backend = to_string(options.backend);
  cluster_.allow_shared_gpu = options.allow_shared_gpu;
  begin("start a process", 1);
  listen_to_interruptions();
}

Supervisor::~Supervisor() {
  if (speaks_) mailbox_.remove();
}

const ClusterFacts& Supervisor::run() {
  while (!done_) {
    if (const auto line = child_.next_line(kPollMilliseconds)) {
      take(nlohmann::json::parse(*line));
    } else if (child_.is_silent()) {
      hear_silence(kGraceSeconds);
    } else if (interruption != 0) {
      hear_interruption();
    } else {
      check_time();
    }
  }
  if (mine_ && cluster_.transfers.empty()) compare_notes();
  return cluster_;
}

void Supervisor::finish() {
  if (speaks_) mailbox_.remove();
  const double until = watch_.seconds() + (in_transfer_ ? 2 : 1) * kGraceSeconds;
  while (!child_.has_ended() && watch_.seconds() < until && interruption == 0) {
    poll(nullptr, 0, kPollMilliseconds / 5);
  }
  child_.end(0);
}

void Supervisor::take(const nlohmann::json& line) {
  if (line.contains("step")) begin(line.at("step"), line.at("factor"));
  if (line.contains("ranks")) line.at("ranks").get_to(cluster_.ranks);
  if (line.contains("batches")) {
    line.at("batches").get_to(cluster_.batches);
    cluster_.batch_backend = line.at("backend");
    cluster_.batch_memory_bytes = line.at("memory");
  }
  if (line.contains("mailbox")) {
    const RankFacts& self = cluster_.ranks.front();
    mailbox_ = Mailbox(line.at("mailbox").get<std::string>(), self.rank, self.size);
  }
  if (line.contains("transfer")) {
    mine_ = line.at("transfer").get<TransferFacts>();
    done_ = mine_->bad() && mine_->end != End::wrong;  // else the line of all follows
    if (mine_->end == End::waited && stalled_) mine_->end = End::stalled;
  }
  if (line.contains("transfers")) {
    line.at("transfers").get_to(cluster_.transfers);
    in_transfer_ = false;
  }
  if (line.contains("failed")) {
    give_up("failed: " + line.at("failed").get<std::string>());
    cluster_.progress.own = true;
  }
}

void Supervisor::begin(const std::string& step, int factor) {
  cluster_.progress.step = step;
  step_began_ = watch_.seconds();
  limit_ = static_cast<double>(options_.timeout) * factor;
  if (step == kTransferStep) begin_transfer();
}

void Supervisor::begin_transfer() {
  before_transfer_(cluster_);
  child_.go();
  in_transfer_ = true;
  step_began_ = watch_.seconds();
}

void Supervisor::hear_silence(double seconds) {
  done_ = true;
  const Ending& ending = child_.end(seconds);
  if (!in_transfer_) {
    if (!ending.text.empty()) cluster_.progress.trouble = "ended the process (" + ending.text + ")";
    cluster_.progress.own = true;
  } else if (!mine_) {
    mine_ = TransferFacts{.device = cluster_.ranks.front().device.taken() != nullptr,
                          .detail = ending.text,
                          .link = {}};
    mine_->end = end_by_signal(ending.signal, ending.forced || killed_);
    if (stalled_) *mine_ = {.end = End::stalled, .device = mine_->device, .detail = {}, .link = {}};
  }
}

/// A launcher ends all ranks when one has crashed: the others' notes say which.
void Supervisor::hear_interruption() {
  if (in_transfer_) return hear_silence(kLastSeconds);
  give_up("was interrupted (" + signal_text(interruption) + ")");
}

void Supervisor::check_time() {
  if (in_transfer_) {
    watch_transfer();
  } else if (over_time()) {
    give_up(fmt::format("did not end within {:.0f} s", limit_));
    // Every other step waits for all ranks.
    cluster_.progress.own = cluster_.progress.step == kFirstStep;
  }
}

void Supervisor::watch_transfer() {
  if (asked_at_) {
    killed_ = killed_ || watch_.seconds() - *asked_at_ > kGraceSeconds;
    if (killed_) child_.send(SIGKILL);
    return;
  }
  stalled_ = over_time();
  if (!stalled_ && !mailbox_.is_asked_to_stop()) return;
  child_.send(kEndTransfer);
  asked_at_ = watch_.seconds();
}

void Supervisor::give_up(const std::string& trouble) {
  cluster_.progress.trouble = trouble;
  done_ = true;
  child_.end(0);
}

void Supervisor::compare_notes() {
  mailbox_.put(*mine_);
  if (!asked_at_) mailbox_.ask_to_stop();
  const RankFacts& self = cluster_.ranks.front();
  if (speaks_) return collect(static_cast<std::size_t>(self.size));
  if (mailbox_.reachable()) return wait_for_report();
  if (mine_->end == End::waited) return;
  print_error(fmt::format("rank {} ({}): the transfer ended so: {} {}", self.rank, self.host,
                          nlohmann::json(mine_->end).get<std::string>(), mine_->detail));
}

void Supervisor::wait_for_report() {
  const double until = watch_.seconds() + 3 * kGraceSeconds;
  while (mailbox_.reachable() && watch_.seconds() < until && interruption == 0) {
    poll(nullptr, 0, kPollMilliseconds);
  }
}

void Supervisor::collect(std::size_t ranks) {
  const double began = watch_.seconds();
  const auto late = [&] {
    return watch_.seconds() - began > (interruption != 0 ? kLastSeconds : 2 * kGraceSeconds);
  };
  cluster_.transfers.assign(ranks, {});
  for (std::size_t found = 0; found < ranks && !late();) {
    found = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto note = mailbox_.get(static_cast<int>(rank));
      if (note) cluster_.transfers[rank] = *note;
      found += note ? 1 : 0;
    }
    if (found < ranks) poll(nullptr, 0, kPollMilliseconds);
  }
  cluster_.transfers.at(static_cast<std::size_t>(cluster_.ranks.front().rank)) = *mine_;
}

}  // namespace rueda::doctor
