#include "process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <poll.h>
#include <spdlog/fmt/fmt.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rueda/core/error.hpp"
#include "rueda/train/timings.hpp"

namespace rueda::doctor {
namespace {

/// Closed by what the process may start itself: MPI alone starts a daemon of its own.
std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw RunError(std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  return ends;
}

Ending ending_of(int status, bool forced) {
  if (WIFSIGNALED(status)) return {WTERMSIG(status), forced, signal_text(WTERMSIG(status))};
  const int code = WEXITSTATUS(status);
  return {0, forced, code == 0 ? "" : fmt::format("exit code {}", code)};
}

}  // namespace

std::string signal_text(int signal) {
  return fmt::format("signal {}, {}", signal, strsignal(signal));
}

TransferFacts::End end_by_signal(int signal, bool forced) {
  constexpr int kFromOutside[] = {SIGTERM, SIGINT, SIGHUP, kEndTransfer};
  const bool outside = std::ranges::find(kFromOutside, signal) != std::end(kFromOutside);
  return outside || forced ? TransferFacts::End::waited : TransferFacts::End::crashed;
}

void on_signal(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);
}

Child::Child(const std::function<int(WorkerPipes)>& work) {
  const auto facts = make_pipe();
  const auto go = make_pipe();
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ < 0) throw RunError(std::string("cannot start a process: ") + std::strerror(errno));
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) std::_Exit(1);  // it ended before it could take this one along
    dup2(STDERR_FILENO, STDOUT_FILENO);
    close(facts[0]);
    close(go[1]);
    std::_Exit(work({.facts = facts[1], .go = go[0]}));
  }
  close(facts[1]);
  close(go[0]);
  facts_ = facts[0];
  go_ = go[1];
}

Child::~Child() {
  end(0);
  close(facts_);
  close(go_);
}

std::optional<std::string> Child::next_line(int milliseconds) {
  if (buffer_.find('\n') == std::string::npos && !closed_) receive(milliseconds);
  const auto end = buffer_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

void Child::receive(int milliseconds) {
  pollfd waiting{.fd = facts_, .events = POLLIN, .revents = 0};
  if (poll(&waiting, 1, milliseconds) <= 0) return;  // in vain, or a signal came
  std::array<char, 1 << 16> bytes{};
  const ssize_t count = read(facts_, bytes.data(), bytes.size());
  if (count > 0) buffer_.append(bytes.data(), std::size_t(count));
  if (count == 0) closed_ = true;
}

void Child::go() const {
  const char byte = 1;
  if (write(go_, &byte, 1) != 1) return;  // it has ended: that shows elsewhere
}

void Child::send(int signal) const {
  if (process_ > 0) kill(process_, signal);
}

const Ending& Child::end(double seconds) {
  const Stopwatch watch;
  while (!has_ended() && watch.seconds() <= seconds) poll(nullptr, 0, 20);
  if (process_ > 0) kill(process_, SIGKILL);
  while (process_ > 0) collect(0, true);
  return ending_;
}

bool Child::has_ended() {
  if (process_ > 0) collect(WNOHANG, false);
  return process_ < 0;
}

void Child::collect(int options, bool forced) {
  int status = 0;
  const pid_t ended = waitpid(process_, &status, options);
  if (ended == process_) ending_ = ending_of(status, forced);
  if (ended == process_ || (ended < 0 && errno != EINTR)) process_ = -1;
}

bool Mailbox::write_existing(const Path& path, const std::string& text) {
  std::ofstream file(path, std::ios::in | std::ios::out);
  file << text << std::flush;
  return file.good();
}

std::string Mailbox::whole_line(const Path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return file.eof() ? "" : line;  // no line end yet
}

std::string Mailbox::make(const Path& parent, int size) {
  std::string name = (parent / ".rueda-doctor-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return {};
  const Mailbox box(name);
  bool made = std::ofstream(box.file("stop")).good();
  for (int rank = 0; rank < size; ++rank) made = made && std::ofstream(box.file_of(rank)).good();
  if (made) return name;
  box.remove();
  return {};
}

std::optional<TransferFacts> Mailbox::get(int rank) const {
  const auto json = nlohmann::json::parse(whole_line(file_of(rank)), nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  return json.get<TransferFacts>();
}

void Mailbox::remove() const noexcept {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace rueda::doctor
