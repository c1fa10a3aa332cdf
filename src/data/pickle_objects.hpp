#pragma once

#include <cstddef>
#include <string_view>

#include "pickle.hpp"

namespace rueda {

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
