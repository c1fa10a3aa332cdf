// To be loaded into a program (LD_PRELOAD): with RUEDA_TEST_SLOW_DISK=SECONDS, flushing what
// belongs to a checkpoint that is being written takes as long.
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include <sys/syscall.h>
#include <unistd.h>

namespace {

bool is_of_checkpoint(int fd) {
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
  return length > 0 && std::string_view(path.data(), std::size_t(length)).find("/.unfinished-") !=
                           std::string_view::npos;
}

}  // namespace

extern "C" int fsync(int fd) {
  const char* seconds = std::getenv("RUEDA_TEST_SLOW_DISK");
  if (seconds != nullptr && is_of_checkpoint(fd))
    std::this_thread::sleep_for(std::chrono::duration<double>(std::atof(seconds)));
  return int(::syscall(SYS_fsync, fd));
}
