#include <algorithm>
#include <cctype>
#include <functional>
#include <limits>
#include <map>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.hpp"
#include "display/model_summary.hpp"
#include "display/run_text.hpp"
#include "model/graph_builder.hpp"
#include "model/registry.hpp"

using namespace rueda;

namespace {

/// A pseudo-terminal of `columns` columns, as a terminal window or mpirun opens it.
class PseudoTerminal {
 public:
  explicit PseudoTerminal(unsigned short columns) {
    REQUIRE(::openpty(&master_, &slave_, nullptr, nullptr, nullptr) == 0);
    resize(columns);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;
  ~PseudoTerminal() {
    ::close(slave_);
    ::close(master_);
  }
  void resize(unsigned short columns) const {
    const winsize size{24, columns, 0, 0};
    REQUIRE(::ioctl(slave_, TIOCSWINSZ, &size) == 0);
  }
  std::string path() const { return ::ptsname(master_); }
  int fd() const { return slave_; }

 private:
  int master_ = -1;
  int slave_ = -1;
};

/// What `work` returns (0 ... 255) in a child process whose standard output is `fd`.
int in_child(int fd, const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (fd >= 0) ::dup2(fd, STDOUT_FILENO);
    ::_exit(work());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The width that a process sees at its standard output `fd`, with `variable` set; 0 if that is no
/// terminal.
int seen_width(int fd, const char* variable = "NONE", const char* value = "",
               bool launched = false) {
  return in_child(fd, [=] {
    ::clearenv();
    ::setenv("TERM", "xterm", 1);
    if (launched) ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    ::setenv(variable, value, 1);
    const Terminal terminal = Terminal::of_stdout();
    return terminal.interactive() ? terminal.width() : 0;
  });
}

/// The same in a rank whose standard output is `own`, started by a launcher that has `launchers`,
/// with a wrapper process in between.
int seen_under_mpirun(int launchers, int own, const char* variable = "NONE",
                      const char* value = "") {
  return in_child(launchers, [=] {
    return in_child(own, [=] { return seen_width(-1, variable, value, true); });
  });
}

TEST_CASE("terminal: a path counts only if a terminal lies there", "[terminal]") {
  const PseudoTerminal pty(100);
  CHECK(Terminal(pty.path()).interactive());
  for (const char* path : {"/dev/null", "/nowhere/at/all", ""})
    CHECK_FALSE(Terminal(path).interactive());
  CHECK_FALSE(Terminal().interactive());
}

TEST_CASE("terminal: width follows the window and COLUMNS overrules it", "[terminal]") {
  const PseudoTerminal pty(100);
  const OpenFile none("/dev/null", O_WRONLY);
  CHECK(seen_width(none.fd()) == 0);
  CHECK(seen_width(pty.fd(), "TERM", "dumb") == 0);
  CHECK(seen_width(pty.fd()) == 100);
  pty.resize(61);
  CHECK(seen_width(pty.fd()) == 61);
  CHECK(seen_width(pty.fd(), "COLUMNS", "44") == 44);
  CHECK(seen_width(pty.fd(), "COLUMNS", "44x") == 61);
  CHECK(seen_width(pty.fd(), "COLUMNS", "-3") == 61);
  pty.resize(0);
  CHECK(seen_width(pty.fd()) == 80);
}

TEST_CASE("terminal: under mpirun the launcher's standard output decides", "[terminal]") {
  const PseudoTerminal ranks(80);
  const PseudoTerminal window(120);
  const OpenFile none("/dev/null", O_WRONLY);
  CHECK(seen_under_mpirun(none.fd(), ranks.fd()) == 0);
  CHECK(seen_under_mpirun(window.fd(), ranks.fd()) == 120);
  CHECK(seen_under_mpirun(window.fd(), none.fd()) == 0);
  // A launcher that decorates or copies its ranks' output leaves no terminal.
  for (const char* part : {"tag_output", "timestamp_output", "xml_output", "output_filename"}) {
    const std::string name = std::string("OMPI_MCA_orte_") + part;
    CHECK(seen_under_mpirun(window.fd(), ranks.fd(), name.c_str(), "1") == 0);
    CHECK(seen_under_mpirun(window.fd(), ranks.fd(), name.c_str(), "0") == 120);
  }
}

TEST_CASE("terminal: --progress words", "[terminal]") {
  const PseudoTerminal pty(100);
  const Terminal window(pty.path());
  using enum ProgressChoice;
  CHECK(progress_mode(automatic, window) == bar);
  CHECK(progress_mode(automatic, Terminal()) == lines);
  for (const ProgressChoice word : {bar, lines, off}) {
    CHECK(progress_mode(word, window) == word);
    CHECK(progress_mode(word, Terminal()) == word);
  }
}

const Progress kTwelveOfTwenty{2, 12, 1536, 1.2345, 1.89, 3, 20, "", false, 2};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// What a terminal shows on one line after `written`.
std::string screen_line(const std::string& written) {
  std::string line;
  std::size_t column = 0;
  for (const char c : written) {
    if (c != '\r') line.replace(column, 1, 1, c);
    column = c == '\r' ? 0 : column + 1;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

EpochRecord example() {
  EpochRecord e;
  e.epoch = 2;
  e.steps = 20;
  e.train = {1.23449, 0.55118, 5117, 0};
  e.seconds = 6.4118;
  e.images_per_second = 5117 / 6.4118;
  return e;
}

TEST_CASE("progress: the line, from its begin to its end", "[progress]") {
  CHECK(progress_text(kTwelveOfTwenty, 79) ==
        "Epoch 2/3 [===========>       ] 12/20 - loss: 1.2345 - 813 images/s - 0:02 left");
  CHECK(progress_text({1, 0, 0, 0, 0, 3, 20}, 60) ==
        "Epoch 1/3 [>                          ]  0/20 - loss: 0.0000");
  CHECK(progress_text({1, 20, 100, kNan, 4, 3, 20}, 120) ==
        "Epoch 1/3 [==============================] 20/20 - 25.0 images/s");  // unknown
  CHECK_THAT(progress_text({1, 1, 64, 1, 1, 1, 66, "", false, 65}, 99),
             Catch::EndsWith(" 1:05 left"));
  CHECK_THAT(progress_text({1, 1, 64, 1, 3661, 1, 2, "", false, 3661}, 99),
             Catch::EndsWith(" 1:01:01 left"));
}

TEST_CASE("progress: never wider than asked, and never less than it could say", "[progress]") {
  for (int columns = 0; columns <= 130; ++columns)
    CHECK(progress_text(kTwelveOfTwenty, columns).size() <= std::size_t(columns));
  CHECK_THAT(progress_text(kTwelveOfTwenty, 60), Catch::EndsWith("813 images/s"));
  CHECK_THAT(progress_text(kTwelveOfTwenty, 50), Catch::EndsWith("loss: 1.2345"));
  CHECK(progress_text(kTwelveOfTwenty, 15) == "Epoch 2/3 12/20");
}

TEST_CASE("progress: one line in place, ten times a second, wiped in the end", "[progress]") {
  ::setenv("COLUMNS", "80", 1);  // whatever window it runs in
  std::ostringstream out;
  {
    ProgressBar bar(out, Terminal(), ProgressChoice::bar);
    Progress p = kTwelveOfTwenty;
    for (p.step = 1, p.seconds = 0.03; p.step <= 10; ++p.step, p.seconds += 0.03) bar.update(p);
    CHECK(std::ranges::count(out.str(), '\r') == 3);  // at 0.03, 0.15 and 0.27 s
    CHECK(std::ranges::count(out.str(), '\n') == 0);
    p.step = p.steps;
    bar.update(p);
    CHECK(std::ranges::count(out.str(), '\r') == 4);
    CHECK_THAT(screen_line(out.str()), Catch::StartsWith("Epoch 2/3 [=====") &&
                                           Catch::Contains("20/20") && Catch::EndsWith("left"));
    CHECK(screen_line(out.str()).size() < 80);
  }
  CHECK(screen_line(out.str()).empty());
  CHECK(out.str().back() == '\r');
  // A shorter line leaves nothing of a longer one.
  ::setenv("COLUMNS", "120", 1);
  ProgressBar bar(out, Terminal(), ProgressChoice::bar);
  bar.update({9, 19, 152'000, 1.5e-5, 0.001, 10, 20});
  bar.update({10, 0, 0, 0, 0, 10, 20});
  CHECK(screen_line(out.str()) == progress_text({10, 0, 0, 0, 0, 10, 20}, 119));
  ::unsetenv("COLUMNS");
}

TEST_CASE("progress: no byte outside bar mode", "[progress]") {
  for (const ProgressChoice mode : {ProgressChoice::lines, ProgressChoice::off}) {
    std::ostringstream out;
    ProgressBar(out, Terminal(), mode).update(kTwelveOfTwenty);
    CHECK(out.str().empty());
  }
}

TEST_CASE("progress: an evaluation shows how far it is", "[progress]") {
  CHECK(progress_text({2, 250, 0, kNan, 2, 3, 1000, "", true, 6}, 60) ==
        "Epoch 2/3 [===>           ] evaluating  250/1000 - 0:06 left");
}

TEST_CASE("progress: names the rank that the others wait for", "[progress]") {
  Progress p = kTwelveOfTwenty;
  p.slowest = "rank 3 on b, +23 % over the others for 5 steps";
  CHECK_THAT(progress_text(p, 140), Catch::Contains("images/s - slow: rank 3 on b, +23 %"));
}

namespace {

RunStatus status_of(std::size_t ranks, std::size_t ranks_of_a_host) {
  RunStatus s;
  s.model = "resnet18";
  s.world_size = ranks;
  s.started_at = 1000;
  s.written_at = s.last_step_at = 2000;
  s.load_balance = 0.9;
  s.communication = 0.5;
  s.useful.assign(ranks, 0.1);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    s.hosts.push_back("n" + std::to_string(rank / ranks_of_a_host));
  return s;
}

}  // namespace

TEST_CASE("status: a character for each rank, by host", "[status]") {
  RunStatus s = status_of(7, 4);
  s.useful = {0.1, 0.1, 0.1, 0.109, 0.119, 0.14, 0.1};
  CHECK_THAT(status_text(s, 0, false), Catch::Contains("  0  ...-  n0\n") &&
                                           Catch::Contains("  4  +#.  n1\n") &&
                                           Catch::Contains("parallel efficiency 45.0 %"));
  CHECK_THAT(status_text(s, 0, true), Catch::Contains("m#\x1b[0m"));
  CHECK(status_text(s, 0, false).find('\x1b') == std::string::npos);
}

TEST_CASE("status: 1,024 ranks fit one screen", "[status]") {
  for (const std::size_t of_a_host : {1, 8, 512}) {
    const std::string text = status_text(status_of(1024, of_a_host), 0, false);
    CHECK(std::ranges::count(text, '\n') <= 24);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
  }
}

TEST_CASE("status: each line fits a narrow terminal, and no word is lost", "[status]") {
  RunStatus s = status_of(70, 35);
  const auto words = [](std::string text) {
    std::erase_if(text, [](char c) { return std::isspace(c) || c == '=' || c == '>'; });
    return text.substr(text.find("msperstep"), text.find("ranks,useful") - text.find("msperstep"));
  };
  const std::string wide = status_text(s, 0, false);
  for (const std::size_t columns : {40, 60, 76, 80}) {
    const std::string text = status_text(s, 0, false, columns);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= columns);
    CHECK(words(text) == words(wide));
    CHECK(std::ranges::count(text, '.') >= 70);  // a character for each rank
  }
}

TEST_CASE("colours are for terminals that have them, and nobody who refuses them", "[status]") {
  const auto colours = [](const char* term, const char* true_colour, const char* refused) {
    return in_child(-1, [&] {
      ::setenv("TERM", term, 1);
      ::setenv("COLORTERM", true_colour, 1);
      ::setenv("NO_COLOR", refused, 1);
      return int(Terminal::has_colours());
    });
  };
  CHECK(colours("xterm-256color", "", "") == 1);
  CHECK(colours("xterm-kitty", "truecolor", "") == 1);
  CHECK(colours("xterm-256color", "truecolor", "1") == 0);
  CHECK(colours("vt100", "", "") == 0);
}

TEST_CASE("status: a run that has ended has no time left", "[status]") {
  RunStatus s = status_of(2, 2);
  s.at = {.epoch = 3, .step = 20, .seconds = 2, .epochs = 3, .steps = 20, .left = 0};
  CHECK_THAT(status_text(s, 0, false), Catch::Contains("0:00 left in all"));
  s.outcome = "completed";
  CHECK_THAT(status_text(s, 0, false), !Catch::Contains("left in all") && !Catch::Contains(" \n") &&
                                           !Catch::Contains("\n\n"));
}

TEST_CASE("status: a run that evaluates says so", "[status]") {
  RunStatus s = status_of(2, 2);
  s.at = {.epoch = 3, .step = 20, .seconds = 2, .epochs = 3, .steps = 20, .left = 90};
  s.usual_step = 0.1;
  s.evaluated = 250;
  s.to_evaluate = 1000;
  const std::string text = status_text(s, 0, false);
  CHECK_THAT(text, Catch::Contains("evaluating  250/1000") && Catch::Contains("running since") &&
                       Catch::Contains("1:30 left in all"));
  CHECK(text.find("no step") == std::string::npos);
  s.written_at = s.last_step_at + 30;
  CHECK_THAT(status_text(s, 0, false), Catch::Contains("no batch of the evaluation since"));
}

TEST_CASE("status: a gap is said as soon as five usual steps could have come", "[status]") {
  RunStatus s = status_of(2, 2);
  const auto after = [&s](double usual, double seconds) {
    s.usual_step = usual;
    s.last_step_at = s.written_at - seconds;
    return status_text(s, 0, false).find("no step since") != std::string::npos;
  };
  CHECK_FALSE(after(0.25, 2.9));  // what lies between two epochs
  CHECK(after(0.25, 3.1));
  CHECK_FALSE(after(20, 99));
  CHECK(after(20, 101));
  CHECK_FALSE(after(kNan, 9));  // no usual step yet
  CHECK(after(kNan, 11));
}

TEST_CASE("status: since when nothing came", "[status]") {
  RunStatus s = status_of(2, 2);
  const auto state = [&](double silent) { return status_text(s, silent, false); };
  CHECK_THAT(state(0), Catch::Contains("running since"));
  CHECK_THAT(state(9.9), Catch::Contains("running since"));
  CHECK_THAT(state(35), Catch::Contains("nothing came for 35 s: killed"));
  s.last_step_at = 1960;
  s.waits_for = "rank 0 has been in the sum for 40 s";
  CHECK_THAT(state(0), Catch::Contains("no step since") && Catch::Contains("(40 s): rank 0 has"));
  s.outcome = "failed";
  s.failure = "a \x1b[2J reason";
  CHECK_THAT(state(9000), Catch::Contains("failed at") && Catch::Contains(": a \\x1b[2J reason"));
}

TEST_CASE("status: the longest gap stays to be seen", "[status]") {
  RunStatus s = status_of(3, 1);
  CHECK(status_text(s, 0, false).find("longest gap") == std::string::npos);
  s.longest_gap = "step 33 of epoch 2 took 8.5 s: rank 2 on c waited first, 7.9 s for \x1b[2J";
  CHECK_THAT(status_text(s, 0, false),
             Catch::Contains("  longest gap  step 33 of epoch 2 took 8.5 s: rank 2 on c") &&
                 Catch::Contains("\\x1b[2J"));
}

TEST_CASE("status: a run lives as long as its content changes, whatever the clocks say",
          "[status]") {
  StatusSilence silence;
  RunStatus s = status_of(2, 2);
  s.written_at = GENERATE(1.0, 9e9);  // far behind, and far ahead of any clock here
  CHECK(silence.look(to_json(s), 500) == 0);
  CHECK_FALSE(silence.changed());
  CHECK(silence.look(to_json(s), 512) == 12);
  s.written_at += 1;
  CHECK(silence.look(to_json(s), 513) == 0);
  CHECK(silence.changed());
  CHECK(silence.look(to_json(s), 520) == 7);
}

TEST_CASE("epoch line: as Keras users know it, with real precision", "[epoch_line]") {
  EpochRecord e = example();
  const std::string line =
      "Epoch 2/3 - 20/20 - 6.412 s - 0.321 s/step - loss: 1.2345 - accuracy: 0.5512 - 798 images/s";
  CHECK(epoch_line(e, 3, 1) == line);
  CHECK(epoch_line(e, 3, 2) == line + " (399 per rank)");
  e.test = Score{1.1, 0.6, 1000, 0.5};
  CHECK(epoch_line(e, 3, 2) == line + " (399 per rank) - val_loss: 1.1000 - val_accuracy: 0.6000");
}

TEST_CASE("epoch line: numbers that are small, large or none", "[epoch_line]") {
  EpochRecord e = example();
  e.seconds = 0.02346;
  e.images_per_second = 12.345;
  e.train.loss = 0.00021;
  CHECK(epoch_line(e, 3, 2) ==
        "Epoch 2/3 - 20/20 - 0.0235 s - 0.00117 s/step - loss: 2.1000e-04 - accuracy: 0.5512 - "
        "12.3 images/s (6.17 per rank)");
  e.seconds = 4321.0987;
  e.train.loss = kNan;
  CHECK_THAT(epoch_line(e, 3, 2),
             Catch::Contains(" - 4321.099 s - 216.055 s/step - loss: nan - accuracy: 0.5512 - "));
  e.train.accuracy = kNan;
  CHECK_THAT(epoch_line(e, 3, 2), Catch::Contains(" s/step - timed, nothing computed - 12.3 im"));
}

/// The words of the line that begins with `begin`, with one blank between them.
std::string line_with(const std::string& text, const std::string& begin) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line) && !line.starts_with(begin)) continue;
  std::istringstream in(line);
  std::string words;
  for (std::string word; in >> word;) words += (words.empty() ? "" : " ") + word;
  return words;
}

TEST_CASE("model summary: ResNet-18 at 32 pixels", "[model_summary]") {
  const std::string text = model_summary(build_model("resnet18", 32, 10), 64);
  CHECK_THAT(text, Catch::StartsWith("resnet18 for 32x32 images with 3 channels, 10 classes\n"));
  for (const auto& [begin, rest] : std::map<std::string, std::string>{
           {"conv1", " conv 3x3, 64 64x32x32 1,728 3.539"},
           {"bn1", " batch norm + relu 64x32x32 128"},
           {"layer2.0.shortcut.0", " conv 1x1/2, 128 128x16x16 8,192 4.194"},
           {"linear", " dense 10 10 5,130 0.010"},
           {"  total", " 11,183,562"},
           {"  trainable", " 11,173,962"},
           {"  non-trainable", " 9,600 running means and variances"},
           {"  forward", " 1.111 GFLOP per image, 71.09 GFLOP per batch of 64"},
           {"  training", " 3.329 GFLOP per image, 213.1 GFLOP per batch of 64"}})
    CHECK(line_with(text, begin + " ") == begin.substr(begin.find_first_not_of(' ')) + rest);
}

TEST_CASE("model summary: every kind of layer says what it is", "[model_summary]") {
  GraphBuilder g("kinds", {3, 16, 16});
  NodeId x = g.conv("odd", g.input(),
                    {.filters = 8, .kernel = 7, .stride = 2, .padding = 2, .bias = true});
  x = g.max_pool("pool", x, {.kernel = 2, .stride = 2, .padding = 0});
  const NodeId padded = g.pad_shortcut("pad", x, 12, 2);
  const NodeId conv = g.conv("conv", x, {.filters = 12, .kernel = 3, .stride = 2, .padding = 1});
  x = g.add("sum", conv, padded, true);
  x = g.global_average_pool("mean", x);
  g.dense("logits", x, {.units = 5});
  const std::string text = model_summary(std::move(g).finish(), 1);
  for (const std::string line :
       {"odd conv 7x7/2 pad 2, 8 + bias 8x7x7 1,184 ", "pool max pool 2x2/2 8x", "sum add + relu ",
        "pad pad channels, /2 12x", "mean average pool ", "logits dense 5 5 "})
    CHECK_THAT(line_with(text, line.substr(0, line.find(' ') + 1)), Catch::StartsWith(line));
}

TEST_CASE("the rates of a GPU are those of exactly this one") {
  CHECK(roof_of("NVIDIA H200", Precision::bf16)->bytes == 4.3e12);
  CHECK(roof_of("NVIDIA H100 80GB HBM3", Precision::bf16)->bytes == 3.02e12);
  CHECK(roof_of("NVIDIA A100-SXM4-80GB", Precision::tf32)->flops == 125e12);
  for (const auto& gpu : kGpuRates) CHECK(roof_of(gpu.name, Precision::fp32)->bytes == gpu.bytes);
  for (const char* other : {"NVIDIA GH200 480GB", "NVIDIA H100 PCIe", "NVIDIA H20", "H2000", ""})
    CHECK(!roof_of(other, Precision::bf16));
}

TEST_CASE("layer table: the slowest first, the rest in one line", "[model_summary]") {
  LayerProfile profile{.batch = 8, .roof = Roof{.flops = 2e12, .bytes = 1e11}};
  for (int i = 1; i <= 23; ++i)
    profile.layers.push_back(
        {.seconds = {1e-3 * i, 5e-3 * i, 2e-3 * i}, .layer = "l" + std::to_string(i)});
  profile.layers[22].flops = 2.3e10;
  profile.layers[22].bytes = 4.6e8;
  profile.layers[22].best = 0.0115;
  const std::string text = layer_table(profile);
  CHECK_THAT(text, Catch::StartsWith("Layers, rank 0 (3 times 8 images)\n"));
  CHECK(line_with(text, "  l23 ") == "l23 forward 46.000 8.3 % 500 10.0 25.0 %");
  CHECK(line_with(text, "  l4 ") == "l4 forward 8.000 1.4 % - - -");
  CHECK(text.find("  l23") < text.find("  l22"));
  CHECK(line_with(text, "  l3 ").empty());
  CHECK(line_with(text, "  3 others") == "3 others 12.000 2.2 % - - -");
  CHECK(line_with(text, "  roof") == "roof: 2000 GFLOP/s, 100 GB/s");
  CHECK(layer_table({}).empty());
  CHECK_THAT(layer_table({.batch = 8}), Catch::StartsWith("Layers: the first epoch has no full"));
}

TEST_CASE("model summary: fits 80 columns for every model", "[model_summary]") {
  for (const std::string& name : model_names()) {
    std::istringstream lines(model_summary(build_model(name, 32, 10), 128));
    for (std::string line; std::getline(lines, line);) {
      INFO(name << ": " << line);
      CHECK(line.size() <= 80);
    }
  }
}

}  // namespace
