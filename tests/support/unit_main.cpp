// The one main of the unit tests. Cases tagged [bf16] are skipped on processors without it.
#include <csignal>

#include "has_avx512.hpp"
#include "skipping_main.hpp"

int main(int argc, char** argv) {
  // Below nohup and in a shell's background signals are ignored that cases send.
  for (const int number : {SIGHUP, SIGINT}) std::signal(number, SIG_DFL);
  return rueda::test::run_skipping(argc, argv, []() -> std::vector<rueda::test::Missing> {
    if (rueda::test::has_avx512()) return {};
    return {{"[bf16]", "no AVX-512, without which oneDNN has no bf16"}};
  });
}
