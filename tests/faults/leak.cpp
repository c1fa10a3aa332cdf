// A leak to be loaded into a program (LD_PRELOAD), so that a long run can be seen failing:
// RUEDA_TEST_LEAK=memory,files takes 1 MB ten times a second and opens a file every second.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <fcntl.h>

namespace {

void leak(const std::string& what) {
  for (int i = 0;; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    constexpr std::size_t bytes = 1'000'000;
    if (what.find("memory") != what.npos) std::memset(std::malloc(bytes), i + 1, bytes);
    if (what.find("files") != what.npos && i % 10 == 0)
      static_cast<void>(open("/dev/null", O_RDONLY));
  }
}

[[maybe_unused]] const bool started = [] {
  const char* what = std::getenv("RUEDA_TEST_LEAK");
  if (what != nullptr) std::thread(leak, std::string(what)).detach();
  return true;
}();

}  // namespace
