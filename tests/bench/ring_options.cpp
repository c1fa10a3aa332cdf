#include "ring_options.hpp"

#include <charconv>
#include <initializer_list>

#include "rueda/core/error.hpp"

namespace rueda::bench {
namespace {

/// 4 B to 100 MB, and the gradients of resnet20, resnet18 and resnet50v2 (10 classes).
const std::vector<std::size_t> kDefaultBytes = {
    4,        64,         1'000,      10'000,         100'000,        269'722 * 4,
    4000'000, 10'000'000, 40'000'000, 11'173'962 * 4, 23'539'850 * 4, 100'000'000};

template <typename Enum>
Enum choice_of(const std::string& option, const std::string& word,
               std::initializer_list<Enum> choices) {
  std::string known;
  for (const Enum choice : choices) {
    if (word == to_string(choice)) return choice;
    known += (known.empty() ? "" : ", ") + std::string(to_string(choice));
  }
  throw InputError(option + " '" + word + "': give one of " + known);
}

std::size_t number_of(const std::string& word, std::size_t least, const std::string& what) {
  std::size_t number = 0;
  const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool whole = error == std::errc{} && rest == word.data() + word.size();
  if (whole && number >= least) return number;
  throw InputError("'" + word + "': " + what + ", " + std::to_string(least) + " or more");
}

}  // namespace

RingOptions parse_ring_options(const std::vector<std::string>& words) {
  RingOptions options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto value = [&] { return ++i < words.size() ? words[i] : std::string(); };
    if (word == "--backend") {
      options.backend = choice_of(word, value(), {BackendChoice::cpu, BackendChoice::cuda});
    } else if (word == "--transport") {
      options.transport =
          choice_of(word, value(),
                    {TransportChoice::automatic, TransportChoice::device, TransportChoice::staged});
    } else if (word == "--repetitions") {
      options.repetitions = number_of(value(), 1, "--repetitions takes a number");
    } else if (word == "--allow-shared-gpu") {
      options.allow_shared_gpu = true;
    } else {
      options.bytes.push_back(number_of(word, sizeof(float), "a size is a number of bytes"));
    }
  }
  if (options.bytes.empty()) options.bytes = kDefaultBytes;
  return options;
}

}  // namespace rueda::bench
