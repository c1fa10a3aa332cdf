#include "base/text_input.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "../../support/common.hpp"

using namespace rueda;
using namespace std::string_literals;

TEST_CASE("text in UTF-8 and UTF-16 is decoded, with a mark or without", "[text_input]") {
  const std::string plain =
      "Gr\xC3\xB6\xC3\x9F"
      "e \xE2\x82\xAC \xF0\x9F\x98\x80";
  const std::string little = "G\0r\0\xF6\0\xDF\0e\0 \0\xAC\x20 \0\x3D\xD8\0\xDE"s;
  std::string big = little;
  for (std::size_t i = 0; i < big.size(); i += 2) std::swap(big[i], big[i + 1]);
  CHECK(decode_text(plain) == plain);
  CHECK(decode_text("\xEF\xBB\xBF" + plain) == plain);
  CHECK(decode_text("\xFF\xFE" + little) == plain);
  CHECK(decode_text(little) == plain);
  CHECK(decode_text("\xFE\xFF" + big) == plain);
  CHECK(decode_text(big) == plain);
  CHECK(decode_text("").empty());
  CHECK(decode_text("\xFF\xFE").empty());
  // UTF-32.
  std::string wide;
  for (const char32_t code : U"Gr\u00f6\u00dfe \u20ac \U0001f600") {
    if (code == 0) break;
    for (const int shift : {0, 8, 16, 24}) wide += char(code >> shift & 0xff);
  }
  std::string wide_big = wide;
  for (std::size_t i = 0; i < wide.size(); ++i) wide_big[i] = wide[i / 4 * 4 + 3 - i % 4];
  CHECK(decode_text("\xFF\xFE\0\0"s + wide) == plain);
  CHECK(decode_text(wide) == plain);
  CHECK(decode_text("\0\0\xFE\xFF"s + wide_big) == plain);
  CHECK(decode_text(wide_big) == plain);
  CHECK(decode_text("\xFF\xFE\0\0\0\xD8\0\0\0\0\x11\0"s) == "\xEF\xBF\xBD\xEF\xBF\xBD");
  // Half a pair, and half a unit.
  CHECK(decode_text("\xFF\xFE\x3D\xD8x\0\0"s) == "\xEF\xBF\xBDx");
  CHECK(decode_text("\xFF\xFE\0\xDE"s) == "\xEF\xBF\xBD");
}

TEST_CASE("prefixes of launchers are known, and whose they are", "[text_input]") {
  constexpr std::size_t kNone = 999;
  const struct {
    const char* prefix;
    std::size_t rank = kNone;
    const char* worker = "";
  } cases[] = {
      {"[1,0]<stdout>:", 0},
      {"[1,13]<stderr>:", 13},
      {"[prterun-host-123@1,2]<stdout>: ", 2},
      {"Thu Nov 26 02:39:28 2026[1,0]<stdout>:", 0},
      {"Thu Nov 26 02:39:28 2026<stdout>:"},
      {"0: ", 0},
      {" 3: ", 3},
      {"[4] ", 4},
      {"[default0]:", 0},
      {"[rank7]: ", 7},
      {"2026-11-26 02:39:28,123 "},
      {"2026-11-26T02:39:28.123456789Z stdout F "},
      {"[2026-11-26 02:39:28]: "},
      {"2026-11-26T02:39:28+01:00 "},
      {"02:39:28 "},
      {"Nov  6 02:39:28 "},
      {"02:39:28 [default1]:", 1},
      {"(TrainWorker pid=1234) ", kNone, "TrainWorker pid=1234"},
      {"(W pid=7, ip=10.0.0.1) ", kNone, "W pid=7, ip=10.0.0.1"},
      {"worker-0  | ", kNone, "worker-0"},
      {"[mpiexec@node-1.site] "},
      {"[proxy:0:1@node2] [3] ", 3},
      {"rank0:", 0},
      {"rank 12: ", 12},
      {"INFO:root:"},
      {"2026-11-26 02:39:28,123 WARNING:my.module:"},
      {"Nov 26 02:39:28 node7 python3[1234]: "},
  };
  for (const auto& c : cases) {
    for (const char* rest : {"25/25 - 14s", "Epoch 1/3", "25/25 [====] - 1s", "- x"}) {
      CAPTURE(c.prefix, rest);
      const LinePrefix found = launcher_prefix(std::string(c.prefix) + rest);
      CHECK(found.bytes == std::string(c.prefix).size());
      CHECK(found.rank.value_or(kNone) == c.rank);
      CHECK(found.worker == c.worker);
    }
  }
  for (const char* line : {"", "25/25 - 14s - loss: 1", "Epoch 1/3", "[====] - 1s", "(a) b", "0:1",
                           "[x] y", "INFO: all is well", "[a@b c] d", "Rank7 x[3] y", "rank",
                           "| NVIDIA-SMI 530 |", "Model ResNet50 4 GPUs", "<b>"}) {
    CAPTURE(line);
    CHECK(launcher_prefix(line).bytes == 0);
  }
}

TEST_CASE("of what ranks printed, rank 0's lines are those of rank 0", "[text_input]") {
  const test::ScratchDirectory folder;
  std::vector<std::string> taken;
  const auto read = [&](const std::string& text) {
    taken.clear();
    const auto path = folder.write("out", text);
    read_output({path, "out", ""}, 1'000, [&](const OutputLine& line) {
      if (line.of_rank_0 && !line.text.empty()) taken.emplace_back(line.text);
    });
  };
  read("1: b\n0: a\nplain\r\n0: \x1b[32mgreen\x1b[0m\n1: c\rd\b\be\n0: f\rg\n");
  CHECK(taken == std::vector<std::string>{"a", "plain", "green", "f", "g"});
  read("(W pid=7) a\n(W pid=8) b\n(W pid=7) c\n");
  CHECK(taken == std::vector<std::string>{"a", "c"});
  read("[1,0]<stdout>:a[1,1]<stdout>:b[1,0]<stderr>:c\n[1,1]<stdout>:d\n");
  CHECK(taken == std::vector<std::string>{"a", "c"});
  read("0: 1/9 [=>...] - ETA: 5srank1: 8/9rank0: 9/9 [==] - 4s\n");
  CHECK(taken == std::vector<std::string>{"1/9 [=>...] - ETA: 5s", "9/9 [==] - 4s"});
  read("\xFF\xFEx\0\n\0y\0"s);
  CHECK(taken == std::vector<std::string>{"x", "y"});
}
