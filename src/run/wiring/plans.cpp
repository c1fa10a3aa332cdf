#include "run/wiring/plans.hpp"

#include <algorithm>
#include <span>
#include <sstream>
#include <string_view>

#include "base/error.hpp"
#include "base/log.hpp"
#include "launch/launcher.hpp"
#if RUEDA_CUDA_TRAINS
#include "cuda/backend/cuda_backend.hpp"
#endif

namespace rueda {
#if RUEDA_CUDA_TRAINS
namespace {

/// The first of them, a line each; empty: there are none.
std::string failures_text(std::span<const std::string> failures) {
  if (failures.empty()) return "";
  constexpr std::size_t kShown = 4;
  std::string text =
      std::to_string(failures.size()) + " engines of cuDNN do not compile or run; others are used:";
  for (const std::string& one : failures.first(std::min(kShown, failures.size())))
    text += "\n  " + one;
  if (failures.size() > kShown)
    text += "\n  and " + std::to_string(failures.size() - kShown) + " more";
  return text;
}

bool shares_plans() {
  const char* word = environment_variable("RUEDA_SHARE_PLANS");
  return word == nullptr || std::string_view(word) != "0";
}

}  // namespace
#endif

std::map<std::string, int> share_out_plans(const std::vector<std::string>& wanted) {
  std::map<std::string, std::vector<std::size_t>> wanting;  // ranks
  for (std::size_t rank = 0; rank < wanted.size(); ++rank) {
    std::istringstream lines(wanted[rank]);
    for (std::string title; std::getline(lines, title);) wanting[title].push_back(rank);
  }
  std::map<std::string, int> shares;
  std::vector<int> load(wanted.size());
  for (const auto& [title, ranks] : wanting) {
    const std::size_t rank =
        *std::ranges::min_element(ranks, {}, [&](std::size_t r) { return load[r]; });
    ++load[rank];
    shares[title] = int(rank);
  }
  return shares;
}

void compile_in_turns([[maybe_unused]] RankGroup& world, [[maybe_unused]] Backend& backend,
                      [[maybe_unused]] const std::function<void()>& plan) {
#if RUEDA_CUDA_TRAINS
  cuda::PlanStore* store = cuda::plan_store(backend);
  const bool takes_part = store != nullptr && shares_plans();
  if (world.size() == 1 || !max_over_ranks(world, takes_part)) return;
  std::string wanted;
  together(world, [&] {
    if (!takes_part) return;
    store->put_off_compilation(true);
    plan();
    for (const std::string& title : store->put_off()) wanted += title + "\n";
  });
  std::map<std::string, std::string> compiled;
  const auto shares = share_out_plans(all_gather_text(world, wanted));
  together(world, [&] {
    for (const auto& [title, rank] : shares)
      if (rank == world.rank()) compiled[title] = store->compile(title);
  });
  for (const auto& [title, rank] : shares) {
    const auto texts = all_gather_text(world, compiled[title]);
    const std::string& text = texts[std::size_t(rank)];
    if (takes_part && rank != world.rank() && !text.empty()) store->restore_from(title, text);
  }
  if (takes_part) store->put_off_compilation(false);
#endif
}

void log_plans(const Backend& backend) {
  log(LogLevel::warn, backend.slow_plans());
#if RUEDA_CUDA_TRAINS
  const auto* store = cuda::plan_store(backend);
  if (store == nullptr) return;
  log(LogLevel::warn, failures_text(store->failures()));
  for (const std::string& note : store->kept_notes()) log(LogLevel::debug, note);
#endif
}

}  // namespace rueda
