// Runs a fuzz target without libFuzzer, with any compiler: on every file of a corpus, then on a
// fixed number of mutated ones, always the same. A finding ends the process; the last line says
// which input it was.
//
//   RUEDA_FUZZ_TARGET=TARGET fuzz CORPUS [--mutations N] [--only N FILE]
//
// --only runs mutation N alone and writes it to FILE.
#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;
using Draw = std::mt19937_64;  // the same numbers everywhere, unlike the standard's distributions

std::size_t below(std::size_t end, Draw& draw) { return end == 0 ? 0 : draw() % end; }

/// A piece of `bytes`, mostly a short one.
struct Piece {
  std::ptrdiff_t begin, end;
};

Piece piece_of(const Bytes& bytes, Draw& draw) {
  const std::size_t begin = below(bytes.size() + 1, draw);
  const std::size_t room = bytes.size() - begin;
  const std::size_t most = draw() % 4 == 0 ? room : std::min<std::size_t>(room, 32);
  return {std::ptrdiff_t(begin), std::ptrdiff_t(begin + below(most + 1, draw))};
}

void change_byte(Bytes& bytes, Draw& draw) {
  if (bytes.empty()) return;
  std::uint8_t& byte = bytes[below(bytes.size(), draw)];
  if (draw() % 2 == 0)
    byte ^= std::uint8_t(1U << (draw() % 8));
  else
    byte = std::uint8_t(draw());
}

void put_number(Bytes& bytes, Draw& draw) {
  constexpr std::array<std::uint64_t, 8> kEdges = {
      0, 1, 0x7f, 0xff, 0x7fff'ffff, 0xffff'ffff, 0x7fff'ffff'ffff'ffff, 0xffff'ffff'ffff'ffff};
  const std::uint64_t value = kEdges[draw() % kEdges.size()];
  const std::size_t width = std::size_t{1} << (draw() % 4);
  const std::size_t at = below(bytes.size(), draw);
  for (std::size_t i = 0; i < width && at + i < bytes.size(); ++i)
    bytes[at + i] = std::uint8_t(value >> (8 * i));
}

void insert_text(Bytes& bytes, std::ptrdiff_t at, std::string_view text) {
  bytes.insert(bytes.begin() + at, text.begin(), text.end());
}

/// Puts another number where digits stand.
void put_digits(Bytes& bytes, Draw& draw) {
  constexpr std::array<std::string_view, 10> kNumbers = {
      "0",          "-1",  "1e308", "1e999", "18446744073709551615", "9007199254740993",
      "4294967296", "0.1", "null",  "1e-320"};
  const auto is_digit = [](std::uint8_t c) { return std::isdigit(c) != 0; };
  const auto from = bytes.begin() + std::ptrdiff_t(below(bytes.size() + 1, draw));
  const auto first = std::find_if(from, bytes.end(), is_digit);
  const auto last = std::find_if_not(first, bytes.end(), is_digit);
  const auto at = first - bytes.begin();
  bytes.erase(first, last);
  insert_text(bytes, at, kNumbers[draw() % kNumbers.size()]);
}

void cut(Bytes& bytes, Draw& draw) {
  const Piece piece = piece_of(bytes, draw);
  bytes.erase(bytes.begin() + piece.begin, bytes.begin() + piece.end);
}

/// A piece of `from` into or over `bytes`.
void copy(Bytes& bytes, const Bytes& from, Draw& draw) {
  const Piece piece = piece_of(from, draw);
  const Bytes taken(from.begin() + piece.begin, from.begin() + piece.end);
  const auto at = std::ptrdiff_t(below(bytes.size() + 1, draw));
  if (draw() % 2 == 0) {
    bytes.insert(bytes.begin() + at, taken.begin(), taken.end());
    return;
  }
  const std::size_t room = bytes.size() - std::size_t(at);
  std::copy_n(taken.begin(), std::min(room, taken.size()), bytes.begin() + at);
}

void change_once(Bytes& bytes, const Bytes& other, Draw& draw) {
  switch (draw() % 6) {
    case 0:
      return change_byte(bytes, draw);
    case 1:
      return put_number(bytes, draw);
    case 2:
      return put_digits(bytes, draw);
    case 3:
      return cut(bytes, draw);
    case 4:
      return copy(bytes, Bytes(bytes), draw);
    default:
      return copy(bytes, other, draw);
  }
}

/// One to four changes to `seed`: bits, bytes, numbers at the edge of their type in binary or in
/// digits, pieces cut out, doubled, moved, or taken from `other`. Never longer than twice both.
Bytes mutate(const Bytes& seed, const Bytes& other, Draw& draw) {
  Bytes bytes = seed;
  for (std::size_t changes = 1 + draw() % 4; changes > 0; --changes)
    change_once(bytes, other, draw);
  bytes.resize(std::min(bytes.size(), 2 * (seed.size() + other.size())));
  return bytes;
}

struct Options {
  fs::path corpus;
  std::size_t mutations = 1000;
  std::size_t only = 0;  ///< from 1; 0: all
  fs::path out;
};

/// What runs now, for the handler of a signal.
char current[512];

void print_current(int signal) {
  const auto ignored = write(STDERR_FILENO, current, std::strlen(current));
  static_cast<void>(ignored);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Sanitizers reserve address space without end, and report signals themselves.
void watch() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr rlim_t kMostBytes = rlim_t{3} << 30;
  const rlimit limit{kMostBytes, kMostBytes};
  setrlimit(RLIMIT_AS, &limit);
  for (const int signal : {SIGSEGV, SIGFPE, SIGILL, SIGBUS}) std::signal(signal, print_current);
#endif
  std::signal(SIGABRT, print_current);
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
  Draw draw(number);
  const Bytes& seed = seeds[number % seeds.size()];
  return mutate(seed, seeds[draw() % seeds.size()], draw);
}

Options parse(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--mutations") {
      options.mutations = std::stoul(words.at(++i));
    } else if (words[i] == "--only") {
      options.only = std::stoul(words.at(++i));
      options.out = words.at(++i);
    } else {
      options.corpus = words[i];
    }
  }
  return options;
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
    std::ofstream(options.out, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
    run("mutation " + std::to_string(options.only), bytes);
    return 0;
  }
  for (std::size_t i = 0; i < seeds.size(); ++i) run(names[i], seeds[i]);
  for (std::size_t i = 1; i <= options.mutations; ++i)
    run("mutation " + std::to_string(i), mutation(seeds, i));
  std::printf("%zu files and %zu mutations\n2 passed, 0 failed\n", seeds.size(), options.mutations);
  return 0;
}
