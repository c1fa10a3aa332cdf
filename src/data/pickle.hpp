#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rueda {

/// What a value of a pickle is. `global` is one of the few names on the allow-list (see
/// pickle_objects.hpp), `dtype` and `array` are NumPy's.
enum class PickleKind : std::uint8_t {
  none,
  boolean,
  integer,
  bytes,
  text,
  list,
  tuple,
  dict,
  global,
  dtype,
  array,
};

/// "list", "NumPy array" and so on, for messages.
std::string_view name_of(PickleKind kind) noexcept;

/// Number of a value inside its Pickle.
using PickleRef = std::uint32_t;

/// One value. Containers refer to others by number, so a pickle that nests or loops without end
/// costs no recursion, neither here nor in any destructor.
struct PickleValue {
  PickleKind kind = PickleKind::none;
  /// Of the opcode that made it.
  std::size_t offset = 0;
  /// integer, boolean: the value. dtype: the byte order ('<', '>', '=' or '|'). array: 1 if its
  /// bytes are in Fortran order. global: its PickleGlobal.
  std::int64_t integer = 0;
  /// bytes; text (UTF-8 as in the file). dtype: its code, such as "u1". array: the raw elements.
  std::string_view bytes{};
  /// list, tuple: elements. dict: key, value, key, value. array: dtype, shape.
  std::vector<PickleRef> items{};
};

/// A pickle, read. Bounded: no more values and links than `kMaxValues` each.
class Pickle {
 public:
  static constexpr std::size_t kMaxValues = 1'000'000;

  explicit Pickle(std::string file_name) : file_name_(std::move(file_name)) {}

  const PickleValue& operator[](PickleRef ref) const { return values_[ref]; }
  PickleValue& operator[](PickleRef ref) { return values_[ref]; }
  const PickleValue& root() const { return values_[root_]; }
  void set_root(PickleRef ref) { root_ = ref; }
  /// The value of `key` (str or bytes) in a dict; null if it is not there.
  const PickleValue* find(const PickleValue& dict, std::string_view key) const;

  /// Stores a value; references to other values stay good.
  PickleRef add(PickleValue value);
  /// Appends to `container.items`.
  void link(PickleRef container, std::span<const PickleRef> items);
  /// Keeps a decoded string alive as long as the pickle.
  std::string_view keep(std::string decoded);
  /// Bytes in strings kept so far.
  std::size_t kept_bytes() const noexcept { return kept_bytes_; }

  /// Throws InputError naming the file, the offset and the reason.
  [[noreturn]] void fail(std::size_t offset, const std::string& reason) const;

 private:
  std::string file_name_;
  std::deque<PickleValue> values_;
  std::deque<std::string> kept_;
  std::size_t kept_bytes_ = 0;
  std::size_t links_ = 0;
  PickleRef root_ = 0;
};

/// Reads one pickle (protocols 2 to 5, in-band) of lists, tuples, dicts, integers, strings and
/// NumPy arrays; executes nothing. Any other opcode or global is refused by name. Opcodes as
/// documented in CPython's Lib/pickletools.py. The returned views point into `bytes`.
Pickle read_pickle(std::span<const std::uint8_t> bytes, const std::string& file_name);

/// Bound on all text that one pickle may have decoded; no CIFAR-10 file comes near.
inline constexpr std::size_t kMaxDecodedBytes = 200'000'000;

/// Turns UTF-8 into Latin-1; false if it is malformed or has characters above 255.
bool decode_latin1(std::string_view utf8, std::string& latin1);

/// "(10000, 3072)".
std::string shape_text(const Pickle& pickle, const PickleValue& shape);

/// Element `index` of `raw`, whose type is `dtype`. Refuses anything but little-endian integers.
std::int64_t integer_element(const Pickle& pickle, const PickleValue& dtype, std::string_view raw,
                             std::size_t index, std::size_t offset);

/// The stack, the marks and the memo of a pickle being read. Values below the newest mark are out
/// of reach. Every misuse throws InputError with the offset set by `at`.
class PickleStack {
 public:
  explicit PickleStack(const Pickle& pickle) : pickle_(&pickle) {}

  /// Sets the offset that messages name.
  void at(std::size_t offset) noexcept { offset_ = offset; }

  void push(PickleRef ref);
  PickleRef top() const;
  PickleRef pop();
  /// Takes the newest `count` values off the stack, oldest first.
  std::vector<PickleRef> pop_many(std::size_t count);

  void mark();
  std::vector<PickleRef> pop_to_mark();

  /// Remembers the top value under a number: the given one, or the count of those so far.
  void memoize(std::uint64_t index);
  void memoize() { memoize(memoized_); }
  /// Pushes the value remembered under `index`.
  void recall(std::uint64_t index);

  bool clean() const noexcept { return stack_.empty() && marks_.empty(); }

 private:
  static constexpr PickleRef kNoRef = ~PickleRef{0};

  std::size_t reachable() const noexcept {
    return stack_.size() - (marks_.empty() ? 0 : marks_.back());
  }
  [[noreturn]] void fail(const std::string& reason) const { pickle_->fail(offset_, reason); }

  const Pickle* pickle_;
  std::size_t offset_ = 0;
  std::vector<PickleRef> stack_;
  std::vector<std::size_t> marks_;
  std::vector<PickleRef> memo_;
  std::size_t memoized_ = 0;
};

/// What the allowed globals stand for. NumPy renamed some modules in version 2; a name counts
/// under both.
enum class PickleGlobal {
  ndarray,      ///< numpy.ndarray, only ever an argument
  dtype,        ///< numpy.dtype
  reconstruct,  ///< numpy.core.multiarray._reconstruct: an array, filled by BUILD
  scalar,       ///< numpy.core.multiarray.scalar: a NumPy integer
  frombuffer,   ///< numpy.core.numeric._frombuffer: an array at once (protocol 5)
  encode,       ///< _codecs.encode: bytes as Latin-1 text, Python 3's way in protocol 2
  empty_bytes,  ///< bytes(): the same for no bytes at all
};

/// The global `module.name` as a value. Refuses every name that is not in PickleGlobal: a pickle
/// could name any function of Python, and loading must not depend on which ones are harmless.
PickleRef find_global(Pickle& pickle, std::string_view module, std::string_view name,
                      std::size_t offset);

/// What calling `global` with `arguments` would give, worked out without calling anything.
PickleRef reduce(Pickle& pickle, const PickleValue& global, const PickleValue& arguments,
                 std::size_t offset);

/// Gives `target`, an element type or an unfilled array, its state. The array's shape, element
/// size and number of bytes must agree.
void build(Pickle& pickle, PickleRef target, const PickleValue& state, std::size_t offset);

}  // namespace rueda
