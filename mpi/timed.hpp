#pragma once

#include <chrono>
#include <utility>

namespace rueda {

/// Does `work` and adds the seconds that it took to `total`.
template <class Work>
void timed(double& total, Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  std::forward<Work>(work)();
  total += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace rueda
