#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rueda {

/// One value. Containers refer to others by address, so a pickle that nests or
/// loops without end costs no recursion, neither here nor in any destructor.
struct PickleValue {
  /// `global` is one of the few names that a pickle may ask for; `dtype` and
  /// `array` are NumPy's.
  enum class Kind { none, boolean, integer, bytes, text, list, tuple, dict, global, dtype, array };

  Kind kind = Kind::none;
  std::int64_t integer = 0;  ///< of an integer or a boolean
  char byte_order = '|';     ///< of a dtype: '<', '>', '=' or '|'
  bool is_fortran = false;   ///< the order of an array's bytes
  std::size_t global = 0;    ///< its place in the list of those that are allowed
  /// bytes; text (UTF-8 as in the file). dtype: its code, such as "u1". array: the raw elements.
  std::string_view bytes{};
  /// list, tuple: elements. dict: key, value, key, value. array: dtype, shape.
  std::vector<const PickleValue*> items{};
  /// Of the opcode that made it.
  std::size_t offset = 0;

  /// The value of `key` (text or bytes), if this is a dict that has it; else null.
  const PickleValue* find(std::string_view key) const;
};

/// "a list", "a NumPy array" and so on, for messages.
std::string_view name_of(PickleValue::Kind kind) noexcept;

/// A pickle, read or being read. Bounded: no more values and links than `kMaxValues` each.
class Pickle {
 public:
  static constexpr std::size_t kMaxValues = 1'000'000;

  explicit Pickle(std::string file_name) : file_name_(std::move(file_name)) {}

  const PickleValue* root = nullptr;
  /// Offset of the opcode being run, which messages name.
  std::size_t now = 0;

  /// Stores a value made by the opcode being run; addresses of others stay good.
  PickleValue* add(PickleValue value);
  /// Appends to `container.items`.
  void link(PickleValue& container, const std::vector<const PickleValue*>& items);
  /// Text as Latin-1, kept as long as the pickle.
  std::string_view as_latin1(const PickleValue& text);

  /// Throws InputError naming the file, the offset and the reason.
  [[noreturn]] void fail(std::size_t offset, const std::string& reason) const;
  [[noreturn]] void fail(const std::string& reason) const { fail(now, reason); }
  const std::string& name() const noexcept { return file_name_; }

 private:
  std::string file_name_;
  std::deque<PickleValue> values_;
  std::deque<std::string> decoded_;
  std::size_t decoded_bytes_ = 0;
  std::size_t links_ = 0;
};

/// Reads one pickle (protocols 2 to 5, in-band) of lists, tuples, dicts,
/// integers, strings and NumPy arrays; executes nothing. Any other opcode or
/// global is refused by name. Opcodes as documented in CPython's
/// Lib/pickletools.py. The returned views point into `bytes`.
Pickle read_pickle(std::span<const std::uint8_t> bytes, const std::string& file_name);

std::uint64_t unsigned_number(std::string_view little_endian);
/// In two's complement; no bytes are the number 0.
std::int64_t signed_number(std::string_view little_endian);

// pickle_objects.cpp: what pickles make of names by calls.

/// The global `module.name` as a value. Refuses every name but NumPy's own few:
/// a pickle could name any function of Python, and loading must not depend on
/// which ones are harmless.
PickleValue* find_global(Pickle& pickle, std::string_view module, std::string_view name);

/// What calling `global` with `arguments` would give, worked out without calling anything.
PickleValue* reduce(Pickle& pickle, const PickleValue& global, const PickleValue& arguments);

/// Gives `target`, an element type or an unfilled array, its state. The array's
/// shape, element size and number of bytes must agree.
void build(Pickle& pickle, PickleValue& target, const PickleValue& state);

/// Element `index` of `raw`. Refuses a `dtype` that is not of little-endian integers.
std::int64_t integer_element(const Pickle& pickle, const PickleValue& dtype, std::string_view raw,
                             std::size_t index, std::size_t offset);

/// "(10000, 3072)".
std::string shape_text(const PickleValue& shape);

}  // namespace rueda
