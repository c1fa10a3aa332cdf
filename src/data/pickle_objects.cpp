#include <array>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "pickle.hpp"
#include "rueda/core/text.hpp"

namespace rueda {
namespace {

struct AllowedGlobal {
  std::string_view module;
  std::string_view name;
  PickleGlobal global;
};

constexpr std::array<AllowedGlobal, 11> kAllowed{{
    {"numpy", "ndarray", PickleGlobal::ndarray},
    {"numpy", "dtype", PickleGlobal::dtype},
    {"numpy.core.multiarray", "_reconstruct", PickleGlobal::reconstruct},
    {"numpy._core.multiarray", "_reconstruct", PickleGlobal::reconstruct},
    {"numpy.core.multiarray", "scalar", PickleGlobal::scalar},
    {"numpy._core.multiarray", "scalar", PickleGlobal::scalar},
    {"numpy.core.numeric", "_frombuffer", PickleGlobal::frombuffer},
    {"numpy._core.numeric", "_frombuffer", PickleGlobal::frombuffer},
    {"_codecs", "encode", PickleGlobal::encode},
    {"__builtin__", "bytes", PickleGlobal::empty_bytes},
    {"builtins", "bytes", PickleGlobal::empty_bytes},
}};

constexpr std::size_t kMaxDimensions = 4;

/// Argument `i`, which must be of one of the given kinds.
const PickleValue& argument(const Pickle& pickle, const PickleValue& tuple, std::size_t i,
                            PickleKind kind, std::size_t offset) {
  if (tuple.kind != PickleKind::tuple || i >= tuple.items.size())
    pickle.fail(offset, fmt::format("argument {} is missing", i + 1));
  const PickleValue& value = pickle[tuple.items[i]];
  if (value.kind != kind)
    pickle.fail(offset, fmt::format("argument {} is {}, expected {}", i + 1, name_of(value.kind),
                                    name_of(kind)));
  return value;
}

/// Bytes or text, as Python 2 and 3 differ in which they use for short names.
std::string_view string_argument(const Pickle& pickle, const PickleValue& tuple, std::size_t i,
                                 std::size_t offset) {
  const bool bytes = i < tuple.items.size() && pickle[tuple.items[i]].kind == PickleKind::bytes;
  return argument(pickle, tuple, i, bytes ? PickleKind::bytes : PickleKind::text, offset).bytes;
}

/// Bytes of one element, from a code such as "u1" or "f8".
std::uint64_t element_size(const Pickle& pickle, const PickleValue& dtype, std::size_t offset) {
  const std::string_view code = dtype.bytes;
  const bool known = code.size() == 2 && (code[0] == 'u' || code[0] == 'i' || code[0] == 'f') &&
                     (code[1] == '1' || code[1] == '2' || code[1] == '4' || code[1] == '8');
  if (!known)
    pickle.fail(offset, fmt::format("array elements of type '{}' are not supported: expected "
                                    "'u1' (uint8)",
                                    printable(code)));
  return static_cast<std::uint64_t>(code[1] - '0');
}

PickleRef make_dtype(Pickle& pickle, const PickleValue& arguments, std::size_t offset) {
  const std::string_view code = string_argument(pickle, arguments, 0, offset);
  return pickle.add({.kind = PickleKind::dtype, .offset = offset, .integer = '|', .bytes = code});
}

PickleRef make_encoded(Pickle& pickle, const PickleValue& arguments, std::size_t offset) {
  const PickleValue& text = argument(pickle, arguments, 0, PickleKind::text, offset);
  const std::string_view codec = string_argument(pickle, arguments, 1, offset);
  if (codec != "latin1")
    pickle.fail(offset,
                fmt::format("text is encoded as '{}', expected 'latin1'", printable(codec)));
  // The text is in the file once but could be decoded any number of times.
  if (pickle.kept_bytes() + text.bytes.size() > kMaxDecodedBytes)
    pickle.fail(offset, fmt::format("the pickle decodes to more than {} bytes", kMaxDecodedBytes));
  std::string decoded;
  if (!decode_latin1(text.bytes, decoded))
    pickle.fail(text.offset, "a byte string is not Latin-1 text");
  const std::string_view bytes = pickle.keep(std::move(decoded));
  return pickle.add({.kind = PickleKind::bytes, .offset = offset, .bytes = bytes});
}

/// A NumPy integer on its own, as `list(array)` makes them.
PickleRef make_scalar(Pickle& pickle, const PickleValue& arguments, std::size_t offset) {
  const PickleValue& dtype = argument(pickle, arguments, 0, PickleKind::dtype, offset);
  const PickleValue& bytes = argument(pickle, arguments, 1, PickleKind::bytes, offset);
  if (bytes.bytes.size() != element_size(pickle, dtype, offset))
    pickle.fail(offset, "a NumPy integer has the wrong number of bytes");
  return pickle.add({.kind = PickleKind::integer,
                     .offset = offset,
                     .integer = integer_element(pickle, dtype, bytes.bytes, 0, offset)});
}

/// Checks that shape, element size and bytes agree, and fills the array.
void fill_array(Pickle& pickle, PickleRef array, std::pair<PickleRef, PickleRef> type_and_shape,
                std::string_view raw, bool fortran, std::size_t offset) {
  const PickleValue& shape = pickle[type_and_shape.second];
  if (shape.items.empty() || shape.items.size() > kMaxDimensions)
    pickle.fail(offset, fmt::format("an array has {} dimensions", shape.items.size()));
  std::uint64_t size = element_size(pickle, pickle[type_and_shape.first], offset);
  for (std::size_t i = 0; i < shape.items.size(); ++i) {
    const auto extent = argument(pickle, shape, i, PickleKind::integer, offset).integer;
    // Factors below 2^32 with the product checked each time can not overflow 64 bits.
    if (extent < 0 || extent > INT32_MAX || size > INT32_MAX)
      pickle.fail(offset, fmt::format("array extent {} is out of range", extent));
    size *= static_cast<std::uint64_t>(extent);
  }
  if (size != raw.size())
    pickle.fail(offset, fmt::format("the array's shape {} needs {} bytes, there are {}",
                                    shape_text(pickle, shape), size, raw.size()));
  pickle[array].bytes = raw;
  pickle[array].integer = fortran ? 1 : 0;
  pickle.link(array, std::array{type_and_shape.first, type_and_shape.second});
}

PickleRef make_empty_array(Pickle& pickle, std::size_t offset) {
  return pickle.add({.kind = PickleKind::array, .offset = offset});
}

/// (buffer, dtype, shape, order).
PickleRef make_array(Pickle& pickle, const PickleValue& arguments, std::size_t offset) {
  const PickleValue& raw = argument(pickle, arguments, 0, PickleKind::bytes, offset);
  argument(pickle, arguments, 1, PickleKind::dtype, offset);
  argument(pickle, arguments, 2, PickleKind::tuple, offset);
  const std::string_view order = string_argument(pickle, arguments, 3, offset);
  if (order != "C" && order != "F")
    pickle.fail(offset, fmt::format("array order '{}' is not supported", printable(order)));
  const PickleRef array = make_empty_array(pickle, offset);
  fill_array(pickle, array, {arguments.items[1], arguments.items[2]}, raw.bytes, order == "F",
             offset);
  return array;
}

/// (version, shape, dtype, is Fortran order, raw bytes).
void build_array(Pickle& pickle, PickleRef array, const PickleValue& state, std::size_t offset) {
  if (!pickle[array].items.empty()) pickle.fail(offset, "an array is filled twice");
  argument(pickle, state, 1, PickleKind::tuple, offset);
  argument(pickle, state, 2, PickleKind::dtype, offset);
  const bool boolean = state.items.size() > 3 && pickle[state.items[3]].kind == PickleKind::boolean;
  const PickleValue& fortran =
      argument(pickle, state, 3, boolean ? PickleKind::boolean : PickleKind::integer, offset);
  const PickleValue& raw = argument(pickle, state, 4, PickleKind::bytes, offset);
  fill_array(pickle, array, {state.items[2], state.items[1]}, raw.bytes, fortran.integer != 0,
             offset);
}

/// (version, byte order, ...); what follows describes records, which no label or pixel is.
void build_dtype(Pickle& pickle, PickleRef dtype, const PickleValue& state, std::size_t offset) {
  const std::string_view order = string_argument(pickle, state, 1, offset);
  if (order.size() != 1) pickle.fail(offset, "an element type has no byte order");
  pickle[dtype].integer = order[0];
}

}  // namespace

PickleRef find_global(Pickle& pickle, std::string_view module, std::string_view name,
                      std::size_t offset) {
  for (const AllowedGlobal& allowed : kAllowed) {
    if (allowed.module != module || allowed.name != name) continue;
    return pickle.add({.kind = PickleKind::global,
                       .offset = offset,
                       .integer = static_cast<std::int64_t>(allowed.global),
                       .bytes = allowed.name});
  }
  pickle.fail(offset, fmt::format("the pickle asks for '{}.{}', which no CIFAR-10 file needs: "
                                  "refused, nothing was executed",
                                  printable(module), printable(name)));
}

PickleRef reduce(Pickle& pickle, const PickleValue& global, const PickleValue& arguments,
                 std::size_t offset) {
  if (global.kind != PickleKind::global)
    pickle.fail(offset, fmt::format("{} can not be called", name_of(global.kind)));
  if (arguments.kind != PickleKind::tuple) pickle.fail(offset, "a call has no list of arguments");
  switch (static_cast<PickleGlobal>(global.integer)) {
    case PickleGlobal::dtype:
      return make_dtype(pickle, arguments, offset);
    case PickleGlobal::encode:
      return make_encoded(pickle, arguments, offset);
    case PickleGlobal::scalar:
      return make_scalar(pickle, arguments, offset);
    case PickleGlobal::reconstruct:
      return make_empty_array(pickle, offset);
    case PickleGlobal::frombuffer:
      return make_array(pickle, arguments, offset);
    case PickleGlobal::empty_bytes:
      if (!arguments.items.empty()) break;
      return pickle.add({.kind = PickleKind::bytes, .offset = offset});
    case PickleGlobal::ndarray:
      break;
  }
  pickle.fail(offset,
              fmt::format("'{}' is called in a way that no CIFAR-10 file needs", global.bytes));
}

void build(Pickle& pickle, PickleRef target, const PickleValue& state, std::size_t offset) {
  switch (pickle[target].kind) {
    case PickleKind::array:
      return build_array(pickle, target, state, offset);
    case PickleKind::dtype:
      return build_dtype(pickle, target, state, offset);
    default:
      pickle.fail(offset, fmt::format("{} can not be given a state", name_of(pickle[target].kind)));
  }
}

}  // namespace rueda
