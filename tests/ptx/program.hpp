#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// PTX as nvcc writes it, read into what the machine runs.

namespace rueda::ptx {

inline constexpr unsigned kWarp = 32;
/// One bit for each thread of a warp.
using Mask = std::uint32_t;

class Interpreter;
struct Instruction;
/// What an instruction does for the threads in the mask.
using Step = void (*)(Interpreter&, const Instruction&, Mask);

/// The three sizes of registers: one bit, up to 32 bits, 64 bits.
enum class Kind : std::uint8_t { predicate, narrow, wide };

/// A register, or a constant, which has a row among the registers of its kind.
struct Operand {
  Kind kind = Kind::narrow;
  std::uint32_t row = 0;
};

inline constexpr std::uint32_t kNone = UINT32_MAX;

/// Operands are in the order of the text; those of {a, b} count one by one.
struct Instruction {
  Step step = nullptr;
  std::uint32_t guard = kNone;  ///< the row of the predicate before it
  bool guard_negated = false;
  bool is_target = false;  ///< of a branch
  std::uint8_t writes = 0;
  std::uint8_t reads = 0;
  std::uint8_t bytes = 0;  ///< of an element in memory
  bool is_signed = false;  ///< the element in memory
  bool is_volatile = false;
  bool is_of_system = false;  ///< a fence for the host and other GPUs, too
  std::int64_t value = 0;     ///< what is added to an address
  std::uint32_t target = kNone;
  std::array<Operand, 5> to{};
  std::array<Operand, 5> from{};
  std::uint32_t line = 0;  ///< of the text
};

struct Constant {
  Operand place;
  std::uint64_t bits;
};

struct Kernel {
  std::string name;
  std::vector<Instruction> code;
  std::vector<Constant> constants;
  std::array<std::uint32_t, 3> rows{};  ///< of each kind, with those of constants
  std::vector<std::size_t> parameter_bytes;
  std::vector<std::size_t> parameter_places;
  std::size_t all_parameter_bytes = 0;
  std::size_t shared_bytes = 0;
  /// Of each 4 bytes of shared memory: those of a cell, 1 in a variable of less; 0: of no variable.
  std::vector<unsigned> shared_units;
  std::size_t global_unit = 4;  ///< no access to global memory is of fewer bytes

  /// The text of an instruction, and the place in the source where it is known.
  std::vector<std::string> lines;
  std::vector<std::string> sources;
  std::string describe(std::size_t pc) const;
};

/// The text does not have the form that nvcc writes, or has an instruction that is not known.
struct Unknown : std::runtime_error {
  using runtime_error::runtime_error;
};

/// All kernels of a file by name.
using Program = std::map<std::string, Kernel, std::less<>>;
/// Throws Unknown.
Program read_program(std::string_view text);

/// What the table of instructions says of one: what it does, and the registers it takes.
struct Form {
  Step step = nullptr;
  std::vector<Kind> to;
  std::vector<Kind> from;
};

/// Null if there is none of this name that works on registers alone.
const Form* find_form(std::string_view name);

// Those that do more; kernel_reader.cpp knows their names.
void load_global(Interpreter&, const Instruction&, Mask);
void store_global(Interpreter&, const Instruction&, Mask);
void load_shared(Interpreter&, const Instruction&, Mask);
void store_shared(Interpreter&, const Instruction&, Mask);
void load_parameter(Interpreter&, const Instruction&, Mask);
void atomic_add(Interpreter&, const Instruction&, Mask);
void fence(Interpreter&, const Instruction&, Mask);
void barrier(Interpreter&, const Instruction&, Mask);
void branch(Interpreter&, const Instruction&, Mask);
void leave(Interpreter&, const Instruction&, Mask);
void let_next_kernel_begin(Interpreter&, const Instruction&, Mask);
void wait_for_previous_kernel(Interpreter&, const Instruction&, Mask);
void shuffle_down(Interpreter&, const Instruction&, Mask);
void shuffle_xor(Interpreter&, const Instruction&, Mask);
void join_words(Interpreter&, const Instruction&, Mask);
void split_word(Interpreter&, const Instruction&, Mask);
void move_special(Interpreter&, const Instruction&, Mask);

/// %tid.x and the like, in the order in which `value` of move_special counts them.
inline constexpr std::array<std::string_view, 9> kSpecial = {"%tid.x",    "%tid.y",    "%ntid.x",
                                                             "%ntid.y",   "%ctaid.x",  "%ctaid.y",
                                                             "%nctaid.x", "%nctaid.y", "%laneid"};

}  // namespace rueda::ptx
