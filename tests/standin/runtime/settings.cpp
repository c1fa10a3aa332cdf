#include "settings.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "rueda/core/random.hpp"
#include "tests/standin/standin.hpp"

namespace rueda {
namespace standin {
namespace {

using Hook = std::function<void()>;

std::size_t mean_delay() {
  static const std::size_t mean = setting("RUEDA_STANDIN_DELAY_US", 0);
  return mean;
}

void sleep_a_little() {
  static std::atomic<std::size_t> items{0};
  static const std::size_t seed = setting("RUEDA_STANDIN_SEED", 1);
  const std::size_t us = delay_us(mean_delay(), seed, items++);
  std::this_thread::sleep_for(std::chrono::microseconds(us));
}

struct HookHolder {
  std::mutex mutex;
  std::shared_ptr<Hook> hook = mean_delay() == 0 ? nullptr : std::make_shared<Hook>(sleep_a_little);
};

// Never destroyed: threads of streams may outlive main.
HookHolder& holder() {
  static auto& it = *new HookHolder;
  return it;
}

std::atomic<bool>& shuffle_flag() {
  static std::atomic<bool> shuffle{mean_delay() != 0};
  return shuffle;
}

}  // namespace

std::size_t setting(const char* name, std::size_t otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text < '0' || *text > '9') return otherwise;
  return std::stoull(text);
}

std::size_t delay_us(std::size_t mean, std::size_t seed, std::size_t item) {
  return mean / 2 + random_bits(seed, item) % (mean + 1);
}

void before_item() {
  std::shared_ptr<Hook> hook;
  {
    const std::lock_guard lock(holder().mutex);
    hook = holder().hook;
  }
  if (hook) (*hook)();
}

bool shuffles_graphs() { return shuffle_flag(); }

}  // namespace standin

void standin_before_item(std::function<void()> hook) {
  const std::lock_guard lock(standin::holder().mutex);
  standin::holder().hook =
      hook ? std::make_shared<standin::Hook>(std::move(hook)) : std::shared_ptr<standin::Hook>();
}

void standin_shuffle_graphs(bool shuffle) { standin::shuffle_flag() = shuffle; }

}  // namespace rueda
