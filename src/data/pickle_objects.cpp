#include <array>
#include <cstdint>
#include <ranges>
#include <utility>

#include <fmt/ranges.h>

#include "base/text.hpp"
#include "data/cifar10_files.hpp"
#include "data/pickle.hpp"

namespace rueda {

std::string_view name_of(PickleValue::Kind kind) noexcept {
  constexpr std::array<std::string_view, 11> kNames{
      "None",    "a boolean",    "an integer", "a byte string",        "a text",       "a list",
      "a tuple", "a dictionary", "a global",   "a NumPy element type", "a NumPy array"};
  return kNames[std::size_t(kind)];
}

const PickleValue* PickleValue::find(std::string_view key) const {
  if (kind != Kind::dict) return nullptr;
  // Backwards, as a later entry replaces an earlier one with the same key.
  for (std::size_t i = items.size(); i >= 2; i -= 2) {
    const PickleValue& candidate = *items[i - 2];
    const bool string = candidate.kind == Kind::bytes || candidate.kind == Kind::text;
    if (string && candidate.bytes == key) return items[i - 1];
  }
  return nullptr;
}

PickleValue* Pickle::add(PickleValue value) {
  if (values_.size() >= kMaxValues)
    fail(fmt::format("the pickle holds more than {} values", kMaxValues));
  value.offset = now;
  return &values_.emplace_back(std::move(value));
}

void Pickle::link(PickleValue& container, const std::vector<const PickleValue*>& items) {
  if (items.size() > kMaxValues - links_)
    fail(container.offset,
         fmt::format("the pickle's containers hold more than {} values in all", kMaxValues));
  links_ += items.size();
  container.items.insert(container.items.end(), items.begin(), items.end());
}

std::string_view Pickle::as_latin1(const PickleValue& text) {
  constexpr std::size_t kMaxDecodedBytes = 200'000'000;  // no CIFAR-10 file comes near
  // The text is in the file once but could be decoded any number of times.
  if (decoded_bytes_ + text.bytes.size() > kMaxDecodedBytes)
    fail(fmt::format("the pickle decodes to more than {} bytes", kMaxDecodedBytes));
  std::string& latin1 = decoded_.emplace_back();
  latin1.reserve(text.bytes.size());
  // Characters 128 to 255 are two bytes in UTF-8, 110000ab 10cdefgh.
  int lead = 0;
  for (const char c : text.bytes) {
    const int byte = static_cast<unsigned char>(c);
    if (lead != 0 && byte >> 6 == 2) {
      latin1 += char((lead & 3) << 6 | (byte & 0x3f));
      lead = 0;
    } else if (lead == 0 && byte < 0x80) {
      latin1 += c;
    } else if (lead == 0 && (byte == 0xc2 || byte == 0xc3)) {
      lead = byte;
    } else {
      fail(text.offset, "a byte string is not Latin-1 text");
    }
  }
  if (lead != 0) fail(text.offset, "a byte string is not Latin-1 text");
  decoded_bytes_ += latin1.size();
  return latin1;
}

void Pickle::fail(std::size_t offset, const std::string& reason) const {
  fail_at(file_name_, offset, reason);
}

namespace {

using Kind = PickleValue::Kind;

/// Argument `i`, which must be of the given kind. Python 2 and 3 differ in
/// whether short names are bytes or text, and flags integers or booleans.
const PickleValue& argument(const Pickle& pickle, const PickleValue& tuple, std::size_t i,
                            Kind kind) {
  if (tuple.kind != Kind::tuple || i >= tuple.items.size())
    pickle.fail(fmt::format("argument {} is missing", i + 1));
  const PickleValue& value = *tuple.items[i];
  if (value.kind != kind && !(kind == Kind::text && value.kind == Kind::bytes) &&
      !(kind == Kind::boolean && value.kind == Kind::integer))
    pickle.fail(
        fmt::format("argument {} is {}, expected {}", i + 1, name_of(value.kind), name_of(kind)));
  return value;
}

/// Bytes of one element, from a code such as "u1" or "f8".
std::uint64_t element_size(const Pickle& pickle, const PickleValue& dtype) {
  constexpr std::string_view kLetters = "uif";
  constexpr std::string_view kSizes = "1248";
  const std::string_view code = dtype.bytes;
  if (code.size() != 2 || kLetters.find(code[0]) == code.npos || kSizes.find(code[1]) == code.npos)
    pickle.fail(fmt::format("array elements of type '{}' are not supported: expected 'u1' (uint8)",
                            printable(code)));
  return std::uint64_t(code[1] - '0');
}

PickleValue* make_dtype(Pickle& pickle, const PickleValue& arguments) {
  const std::string_view code = argument(pickle, arguments, 0, Kind::text).bytes;
  return pickle.add({.kind = Kind::dtype, .bytes = code});
}

/// Bytes as Latin-1 text, Python 3's way in protocol 2.
PickleValue* make_encoded(Pickle& pickle, const PickleValue& arguments) {
  const PickleValue& text = argument(pickle, arguments, 0, Kind::text);
  const std::string_view codec = argument(pickle, arguments, 1, Kind::text).bytes;
  if (codec != "latin1")
    pickle.fail(fmt::format("text is encoded as '{}', expected 'latin1'", printable(codec)));
  return pickle.add({.kind = Kind::bytes, .bytes = pickle.as_latin1(text)});
}

/// bytes(): the same for no bytes at all.
PickleValue* make_no_bytes(Pickle& pickle, const PickleValue& arguments) {
  if (!arguments.items.empty())
    pickle.fail("'bytes' is called in a way that no CIFAR-10 file needs");
  return pickle.add({.kind = Kind::bytes});
}

/// A NumPy integer on its own, as `list(array)` makes them.
PickleValue* make_scalar(Pickle& pickle, const PickleValue& arguments) {
  const PickleValue& dtype = argument(pickle, arguments, 0, Kind::dtype);
  const std::string_view raw = argument(pickle, arguments, 1, Kind::bytes).bytes;
  if (raw.size() != element_size(pickle, dtype))
    pickle.fail("a NumPy integer has the wrong number of bytes");
  const std::int64_t value = integer_element(pickle, dtype, raw, 0, pickle.now);
  return pickle.add({.kind = Kind::integer, .integer = value});
}

/// Checks that shape, element size and bytes agree, and fills the array.
void fill_array(Pickle& pickle, PickleValue& array, const PickleValue& dtype,
                const PickleValue& shape, const PickleValue& raw) {
  if (shape.items.empty() || shape.items.size() > 4)
    pickle.fail(fmt::format("an array has {} dimensions", shape.items.size()));
  std::uint64_t size = element_size(pickle, dtype);
  for (std::size_t i = 0; i < shape.items.size(); ++i) {
    const std::int64_t extent = argument(pickle, shape, i, Kind::integer).integer;
    // Factors below 2^32 with the product checked each time can not overflow 64 bits.
    if (extent < 0 || extent > INT32_MAX || size > INT32_MAX)
      pickle.fail(fmt::format("array extent {} is out of range", extent));
    size *= std::uint64_t(extent);
  }
  if (size != raw.bytes.size())
    pickle.fail(fmt::format("the array's shape {} needs {} bytes, there are {}", shape_text(shape),
                            size, raw.bytes.size()));
  array.bytes = raw.bytes;
  pickle.link(array, {&dtype, &shape});
}

/// An array that `build` fills.
PickleValue* make_empty_array(Pickle& pickle, const PickleValue&) {
  return pickle.add({.kind = Kind::array});
}

/// (buffer, dtype, shape, order): an array at once, in protocol 5.
PickleValue* make_array(Pickle& pickle, const PickleValue& arguments) {
  const PickleValue& raw = argument(pickle, arguments, 0, Kind::bytes);
  const PickleValue& dtype = argument(pickle, arguments, 1, Kind::dtype);
  const PickleValue& shape = argument(pickle, arguments, 2, Kind::tuple);
  const std::string_view order = argument(pickle, arguments, 3, Kind::text).bytes;
  if (order != "C" && order != "F")
    pickle.fail(fmt::format("array order '{}' is not supported", printable(order)));
  PickleValue* array = pickle.add({.kind = Kind::array, .is_fortran = order == "F"});
  fill_array(pickle, *array, dtype, shape, raw);
  return array;
}

struct Global {
  std::string_view module;
  std::string_view name;
  PickleValue* (*call)(Pickle&, const PickleValue& arguments);  ///< null: only ever an argument
};

// NumPy renamed some modules in version 2.
constexpr std::array<Global, 11> kGlobals{{
    {"numpy", "ndarray", nullptr},
    {"numpy", "dtype", make_dtype},
    {"numpy.core.multiarray", "_reconstruct", make_empty_array},
    {"numpy._core.multiarray", "_reconstruct", make_empty_array},
    {"numpy.core.multiarray", "scalar", make_scalar},
    {"numpy._core.multiarray", "scalar", make_scalar},
    {"numpy.core.numeric", "_frombuffer", make_array},
    {"numpy._core.numeric", "_frombuffer", make_array},
    {"_codecs", "encode", make_encoded},
    {"__builtin__", "bytes", make_no_bytes},
    {"builtins", "bytes", make_no_bytes},
}};

}  // namespace

PickleValue* find_global(Pickle& pickle, std::string_view module, std::string_view name) {
  for (std::size_t i = 0; i < kGlobals.size(); ++i)
    if (kGlobals[i].module == module && kGlobals[i].name == name)
      return pickle.add({.kind = Kind::global, .global = i});
  pickle.fail(
      fmt::format("the pickle asks for '{}.{}', which no CIFAR-10 file needs: refused, "
                  "nothing was executed",
                  printable(module), printable(name)));
}

PickleValue* reduce(Pickle& pickle, const PickleValue& global, const PickleValue& arguments) {
  if (global.kind != Kind::global)
    pickle.fail(fmt::format("{} can not be called", name_of(global.kind)));
  if (arguments.kind != Kind::tuple) pickle.fail("a call has no list of arguments");
  const Global& known = kGlobals[global.global];
  if (known.call == nullptr)
    pickle.fail(fmt::format("'{}' is called in a way that no CIFAR-10 file needs", known.name));
  return known.call(pickle, arguments);
}

void build(Pickle& pickle, PickleValue& target, const PickleValue& state) {
  if (target.kind == Kind::array) {  // (version, shape, dtype, is Fortran order, raw bytes)
    if (!target.items.empty()) pickle.fail("an array is filled twice");
    const PickleValue& shape = argument(pickle, state, 1, Kind::tuple);
    const PickleValue& dtype = argument(pickle, state, 2, Kind::dtype);
    target.is_fortran = argument(pickle, state, 3, Kind::boolean).integer != 0;
    fill_array(pickle, target, dtype, shape, argument(pickle, state, 4, Kind::bytes));
  } else if (target.kind == Kind::dtype) {
    // (version, byte order, ...); what follows describes records, which no label or pixel is.
    const std::string_view order = argument(pickle, state, 1, Kind::text).bytes;
    if (order.size() != 1) pickle.fail("an element type has no byte order");
    target.byte_order = order[0];
  } else {
    pickle.fail(fmt::format("{} can not be given a state", name_of(target.kind)));
  }
}

std::int64_t integer_element(const Pickle& pickle, const PickleValue& dtype, std::string_view raw,
                             std::size_t index, std::size_t offset) {
  const std::string_view code = dtype.bytes;
  const bool integer = code.size() == 2 && (code[0] == 'u' || code[0] == 'i');
  if (!integer || dtype.byte_order == '>')
    pickle.fail(offset, fmt::format("elements of type '{}{}' are not little-endian integers",
                                    dtype.byte_order, printable(code)));
  const auto width = std::size_t(code[1] - '0');
  const std::string_view element = raw.substr(index * width, width);
  if (code[0] == 'i') return signed_number(element);
  return std::int64_t(unsigned_number(element));
}

std::string shape_text(const PickleValue& shape) {
  const auto extents = shape.items | std::views::transform(&PickleValue::integer);
  return fmt::format("({})", fmt::join(extents, ", "));
}

}  // namespace rueda
