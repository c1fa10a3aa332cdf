#pragma once

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "commands/bench/record.hpp"
#include "run/job.hpp"
#include "run/train_setup.hpp"
#include "run/wiring/make_all_reduce.hpp"
#include "run/wiring/open_backend.hpp"
#include "run/wiring/versions.hpp"

namespace rueda::bench {

/// The ranks of the run with a device each, as training would have them, and memory to sum in.
class BenchSession {
 public:
  /// Collective. `most_bytes`: of the longest slice. Throws InputError as training would.
  BenchSession(Job& job, const TrainConfig& setup, std::size_t most_bytes)
      : world_(job.world()), most_bytes_(most_bytes) {
    require_agreed(
        world_.size() <= kMostExactRanks,
        fmt::format("the benchmark tests sums of up to {} ranks; start fewer", kMostExactRanks));
    const int threads = job.agree_on_cores(setup.device.threads).choice.threads;
    together(world_, [&] { backend_ = open_backend(options_of(setup, threads)); });
    const auto decision =
        agree_on_transport(world_, setup.sums.transport, backend_->reduce_device());
    transport_ = decision.transport;
    log(LogLevel::info, decision.warning);
    system_ = {.started_at = utc_now(),
               .versions = component_versions(),
               .hosts = all_gather_text(world_, world_.host()),
               .backend = std::string(backend_->name()),
               .device = std::string(backend_->device()),
               .transport = to_string(transport_),
               .threads = all_gather(world_, threads),
               .wire = setup.sums.wire};
  }

  const SystemInfo& system() const { return system_; }
  /// Prints on rank 0.
  void print(const std::string& text) const {
    if (world_.rank() == 0) std::cout << harmless(text) << std::flush;
  }

  /// Collective: makes one more all-reduce to measure, `name` in rows. Returns why
  /// this machine does not offer it, the same on all ranks; empty if it does.
  std::string add(const std::string& name, const ReduceSettings& settings) {
    Sum sum{name, nullptr};
    std::string refusal;
    try {
      sum.reduce = make_all_reduce(
          settings, {world_, backend_->reduce_device(), transport_, most_bytes_ / sizeof(float)});
    } catch (const InputError& error) {
      refusal = error.what();
    }
    for (const std::string& text : all_gather_text(world_, refusal)) {
      if (!text.empty()) return text;
    }
    sums_.push_back(std::move(sum));
    return {};
  }

  /// What `auto` takes and why, for people; empty where it is not measured.
  std::string choice() const {
    for (const Sum& sum : sums_) {
      if (sum.reduce->table().empty()) continue;
      return fmt::format("{}, {}", sum.reduce->name(), sum.reduce->details());
    }
    return "";
  }

  /// Collective: takes the memory, once for all sizes as the arena of a training run.
  void allocate() {
    together(world_, [&] { memory_ = backend_->allocate(most_bytes_); });
  }

  /// Collective: measures a slice of this size with each all-reduce, which sums
  /// in its own memory if it has some, and else in the session's.
  std::vector<Row> measure(const Size& size, const Effort& effort) {
    const std::size_t floats = size.bytes / sizeof(float);
    std::vector<Candidate> candidates;
    std::vector<Row> rows;
    for (const Sum& sum : sums_) {
      auto memory = sum.reduce->arena();
      if (memory.size() < floats) memory = memory_.floats();
      candidates.push_back({sum.reduce.get(), memory});
      rows.push_back({size, {}, sum.name});
    }
    auto seconds = bench::measure({world_, *backend_, system_.wire}, candidates, floats, effort);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].seconds = std::move(seconds[i]);
    return rows;
  }

 private:
  struct Sum {
    std::string name;
    std::unique_ptr<AllReduce> reduce;
  };

  Communicator& world_;
  std::size_t most_bytes_;
  std::unique_ptr<Backend> backend_;
  Transport transport_ = Transport::host;
  Memory memory_;
  std::vector<Sum> sums_;
  SystemInfo system_;
};

}  // namespace rueda::bench
