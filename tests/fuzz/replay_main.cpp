// Runs a fuzz target without libFuzzer, with any compiler: on every file of a corpus, then on a
// fixed number of mutated ones, always the same. A finding ends the process; the last line says
// which input it was.
//
//   fuzz-TARGET CORPUS [--mutations N] [--only N FILE]   --only writes mutation N to FILE
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "mutate.hpp"
#include "target.hpp"

namespace {

using rueda::fuzz::Bytes;
namespace fs = std::filesystem;

struct Options {
  fs::path corpus;
  std::size_t mutations = 1000;
  std::size_t only = 0;  ///< from 1; 0: all
  fs::path out;
};

/// What runs now, for the handler of a signal.
char current[512];

void tell_current(int signal) {
  const auto ignored = write(STDERR_FILENO, current, std::strlen(current));
  static_cast<void>(ignored);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Sanitizers reserve address space without end, and tell of signals themselves.
void watch() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr rlim_t kMostBytes = rlim_t{3} << 30;
  const rlimit limit{kMostBytes, kMostBytes};
  setrlimit(RLIMIT_AS, &limit);
  for (const int signal : {SIGSEGV, SIGFPE, SIGILL, SIGBUS}) std::signal(signal, tell_current);
#endif
  std::signal(SIGABRT, tell_current);
}

void run(const std::string& name, const Bytes& bytes) {
  std::snprintf(current, sizeof current, "failed: %s\n", name.c_str());
  try {
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "not refused: %s\n", error.what());
    std::abort();
  }
}

std::vector<Bytes> read_corpus(const fs::path& folder, std::vector<std::string>& names) {
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().string());
  std::sort(names.begin(), names.end());
  std::vector<Bytes> seeds;
  for (const std::string& name : names) {
    std::ifstream stream(name, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return seeds;
}

/// Mutation `number` of a corpus; each is drawn anew, so that one can be had without the others.
Bytes mutation(const std::vector<Bytes>& seeds, std::size_t number) {
  rueda::fuzz::Draw draw(number);
  const Bytes& seed = seeds[number % seeds.size()];
  return rueda::fuzz::mutate(seed, seeds[draw() % seeds.size()], draw);
}

std::size_t number_of(std::string_view word) {
  std::size_t value = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), value);
  if (read.ec != std::errc() || read.ptr != word.data() + word.size()) {
    throw std::invalid_argument("no number: " + std::string(word));
  }
  return value;
}

Options parse(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--mutations") {
      options.mutations = number_of(words.at(++i));
    } else if (words[i] == "--only") {
      options.only = number_of(words.at(++i));
      options.out = words.at(++i);
    } else {
      options.corpus = words[i];
    }
  }
  return options;
}

void write_file(const fs::path& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse({argv + 1, argv + argc});
  watch();
  std::vector<std::string> names;
  const std::vector<Bytes> seeds = read_corpus(options.corpus, names);
  if (seeds.empty()) throw std::invalid_argument("no corpus in " + options.corpus.string());
  if (options.only > 0) {
    const Bytes bytes = mutation(seeds, options.only);
    write_file(options.out, bytes);
    run("mutation " + std::to_string(options.only), bytes);
    return 0;
  }
  for (std::size_t i = 0; i < seeds.size(); ++i) run(names[i], seeds[i]);
  for (std::size_t i = 1; i <= options.mutations; ++i)
    run("mutation " + std::to_string(i), mutation(seeds, i));
  std::printf("%zu files and %zu mutations\n2 passed, 0 failed\n", seeds.size(), options.mutations);
  return 0;
}
