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

}  // namespace rueda
