#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rueda/train/config.hpp"

namespace rueda {

// The one table of the options of `rueda train`. The command line, recipes, the
// record, resuming, studies and the checks of ranges derive from it.

/// What a resumed run does with an option of the interrupted run.
enum class Resume {
  must_agree,    ///< takes it over; another value is refused: it decides about the numbers
  changes_bits,  ///< takes it over; another value changes last bits, or what comes later
  free,          ///< takes it over; another value is as good
  own,           ///< does not take it over: it belongs to one run alone
};
constexpr auto words_of(Resume) { return std::array{"must agree", "changes bits", "free", "own"}; }

/// How a study treats runs that differ in an option.
enum class Timing {
  none,     ///< as repeats: it does not change how long a step takes
  variant,  ///< as different kinds of runs, which it never merges
  series,   ///< it sorts them by what the option leads to: batch, images, network, device
};
constexpr auto words_of(Timing) { return std::array{"none", "variant", "series"}; }

/// The numbers that an option takes.
struct OptionRange {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  bool without_least = false;
  bool without_most = false;
  const char* hint = "";  ///< what the user should know to choose one
};

/// Where an option has its value.
template <typename Value>
struct Place {
  Value& (*of)(TrainConfig&);
  const Value& (*in)(const TrainConfig&);
};

// The kinds of options.

struct Text {
  Place<std::string> place;
  bool null_if_empty = true;  ///< in the record
  /// A switch with which the run writes the file that it reads without.
  bool (*is_written)(const TrainConfig&) = nullptr;
};

template <typename Number>  // or std::optional<Number>
struct NumberIn {
  Place<Number> place;
  OptionRange range;
};

/// A number in whose place `word` may stand, which means `meaning`.
template <typename Number>
struct NumberOrWord {
  Place<Number> place;
  OptionRange range;
  const char* word;
  Number meaning;
};

struct Flag {
  Place<bool> place;
};

/// One of several words, by their indices.
struct Words {
  std::vector<const char*> words;
  std::size_t (*get)(const TrainConfig&);
  void (*set)(TrainConfig&, std::size_t);
};

/// A text of a form of its own. `get` gives an empty text where there is none.
struct Formed {
  std::string (*get)(const TrainConfig&);
  void (*set)(TrainConfig&, const std::string&);
  const char* path_word = "";  ///< what stands behind it, to the end of the text, is a path
};

using OptionKind = std::variant<Text, NumberIn<std::size_t>, NumberIn<int>, NumberIn<double>,
                                NumberIn<std::optional<double>>, NumberOrWord<std::size_t>,
                                NumberOrWord<double>, Flag, Words, Formed>;

/// The heading that comes last in the help.
inline constexpr const char* kLastGroup = "Tuning and tests";

/// What else the program asks of an option.
struct OptionUses {
  bool first = false;      ///< most runs need it: the short help of train has it
  bool evaluates = false;  ///< rueda evaluate has it, too
  /// Its word stands for a measurement, of which a resumed run keeps the result.
  bool word_is_measured = false;
  bool path_must_exist = false;  ///< what it names is read by every run, a resumed one too
  /// What Keras, PyTorch's examples, Lightning, timm, Hugging Face and Horovod's examples call it.
  std::vector<std::string_view> synonyms = {};
};

struct TrainOption {
  const char* name;   ///< without the dashes, as in recipes and in run.json
  const char* group;  ///< heading in the help text
  OptionKind kind;
  Resume resume;  ///< the help comes after both, so that no entry can leave them out
  Timing timing;
  const char* placeholder;  ///< for its value in the help text; flags and words need none
  std::string help;
  OptionUses uses = {};
};

/// All options, in the order of run.json.
const std::vector<TrainOption>& train_options();

/// Throws std::out_of_range where the table has no option of this name.
const TrainOption& train_option(std::string_view name);

/// Null, where the option has no value, or its value as run.json has it.
using OptionValue =
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string>;
OptionValue value_of(const TrainOption& option, const TrainConfig& config);

/// As the command line takes it; empty for null.
std::string to_string(const OptionValue& value);

/// Takes the value from the words of the command line. Throws InputError, which
/// does not name the option, for a text of the wrong form; ranges are
/// `check_range`'s part.
void set_option(const TrainOption& option, TrainConfig& config, const std::string& text);

/// Throws InputError naming the option where its number is out of range.
void check_range(const TrainOption& option, const TrainConfig& config);

/// Reads `50steps`, `1epoch` and the like. Throws InputError for anything else, and for 0.
CheckpointEvery parse_every(const std::string& text);

/// Reads `equal`, `speed`, or `3,1`. Throws InputError for anything else.
Balance parse_balance(const std::string& text);

/// In front of the path in `--compute`.
inline constexpr const char* kComputeFrom = "from=";

/// Reads `ms=40,jitter=50,factors=1:2,from=FILE`, of which any part may be missing, or `40`, which
/// means `ms=40`. Since a path may have commas, it comes last. Throws InputError for anything else.
ComputeConfig parse_compute(const std::string& text);

/// Where in an option's text a path begins, which leads from the folder in which the run was
/// started; none where the text has no path.
std::optional<std::size_t> path_begin(const TrainOption& option, const std::string& text);

/// The variable by which a test injects a fault.
inline constexpr const char* kFaultVariable = "RUEDA_INJECT";

/// Reads `KIND:RANK:STEP`, for example `flip-bit:1:10`. Throws InputError for anything else.
InjectedFault parse_fault(const std::string& text);

}  // namespace rueda
