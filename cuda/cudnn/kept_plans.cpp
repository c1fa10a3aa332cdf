#include "cuda/cudnn/kept_plans.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/files.hpp"
#include "cuda/cudnn/cudnn_plan.hpp"

namespace rueda::cuda {
namespace {

constexpr std::size_t kMostKept = std::size_t{16} << 20U;  // bytes of a plan; usual are 0.2 MB

std::string hash_of(const std::string& text) {
  return fmt::format("{:016x}", std::hash<std::string>{}(text));
}

std::string with_title(const std::string& title, const std::string& text) {
  return title + hash_of(text) + "\n" + text;
}

/// What follows the first line.
std::string text_in(const std::string& kept) {
  return kept.substr(std::min(kept.find('\n'), kept.size() - 1) + 1);
}

}  // namespace

KeptPlans::KeptPlans(const std::string& gpu)
    : kind_(fmt::format(" on {}, cuDNN {}: ", gpu, cudnnGetVersion())) {}

std::string KeptPlans::title(const std::string& engine, const std::string& key) const {
  return fmt::format("{} for \"{}\"{}", engine, key, kind_);
}

fs::path KeptPlans::file(const std::string& title) const {
  return folder_ / (hash_of(title) + ".plan");
}

bool KeptPlans::restore(const std::string& title, CudnnPlan& plan) {
  const auto added = added_.find(title);
  const bool is_added = added != added_.end();
  if (!is_added && folder_.empty()) return false;
  const auto read = [&] {
    InputFile input{file(title), "another rank's plan", "the plan is compiled"};
    if (!is_added) input.name = input.path.string();
    std::string kept;
    if (is_added)
      kept = added->second;
    else
      kept = read_whole(input, kMostKept);
    const std::string text = text_in(kept);
    input.require(kept == with_title(title, text), "it is not this plan");
    plan.plan.set(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, std::span<const char>(text));
    plan.plan.finalize();
  };
  if (!succeeds(read, title, notes_)) return false;
  std::error_code unknown;
  if (is_added && !folder_.empty() && !fs::exists(file(title), unknown))
    write(title, added->second);
  return true;
}

std::string KeptPlans::keep(const std::string& title, const CudnnPlan& plan) {
  std::string kept;
  const auto ask = [&] {
    const auto json = plan.plan.get_all<char>(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
    kept = with_title(title, std::string(json.begin(), json.end()));
  };
  if (succeeds(ask, title, notes_) && !folder_.empty()) write(title, kept);
  return kept;
}

void KeptPlans::write(const std::string& title, const std::string& kept) {
  succeeds([&] { write_output(file(title), kept); }, title, notes_);
}

}  // namespace rueda::cuda
