#include "data/pickle.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "data/cifar10_files.hpp"

namespace rueda {
namespace {

using Kind = PickleValue::Kind;
using Items = std::vector<const PickleValue*>;

/// As many values as lie above the newest mark.
constexpr std::size_t kToMark = ~std::size_t{0};

/// The stack machine that a pickle is a program for, cut down to what data
/// needs. Values below the newest mark are out of reach.
class Machine {
 public:
  struct Opcode {
    std::uint8_t code;
    void (Machine::*run)(const Opcode&);
    std::size_t count = 0;  ///< of bytes that follow, of values to take, or the value of a constant
    Kind kind = Kind::none;
  };

  Machine(std::span<const std::uint8_t> bytes, const std::string& file_name)
      : bytes_(reinterpret_cast<const char*>(bytes.data()), bytes.size()), pickle_(file_name) {}

  Pickle run();

 private:
  static const std::array<Opcode, 38> kOpcodes;

  std::size_t remaining() const { return bytes_.size() - offset_; }

  /// What is taken is compared with what remains before anything is allocated.
  std::string_view take(std::uint64_t count) {
    if (count > remaining())
      pickle_.fail(offset_, fmt::format("the file ends too early: {} bytes are due, {} remain",
                                        count, remaining()));
    return bytes_.substr(std::exchange(offset_, offset_ + count), count);
  }
  std::uint64_t take_number(std::size_t width) { return unsigned_number(take(width)); }
  std::string_view take_line() {
    const std::size_t end = bytes_.find('\n', offset_);
    if (end == bytes_.npos) pickle_.fail(offset_, "the file ends inside a line of text");
    const std::string_view line = take(end - offset_);
    ++offset_;
    return line;
  }

  std::size_t reachable() const {
    if (marks_.empty()) return stack_.size();
    return stack_.size() - marks_.back();
  }

  void push(PickleValue* value) {
    if (stack_.size() >= Pickle::kMaxValues) pickle_.fail("the pickle nests too deeply");
    stack_.push_back(value);
  }
  PickleValue& top() const {
    if (reachable() == 0) pickle_.fail("the pickle uses a value that it never made");
    return *stack_.back();
  }
  /// Takes the newest values off the stack, oldest first.
  Items pop(std::size_t count) {
    const bool to_mark = count == kToMark;
    if (to_mark && marks_.empty()) pickle_.fail("the pickle closes a group that it never opened");
    if (to_mark) count = reachable();
    if (count > reachable()) pickle_.fail("the pickle uses a value that it never made");
    const auto first = stack_.end() - std::ptrdiff_t(count);
    Items items(first, stack_.end());
    stack_.erase(first, stack_.end());
    if (to_mark) marks_.pop_back();
    return items;
  }

  // One for each kind of opcode.

  void constant(const Opcode& op) {
    push(pickle_.add({.kind = op.kind, .integer = std::int64_t(op.count)}));
  }
  void number(const Opcode& op) {
    const auto value = std::int64_t(take_number(op.count));
    push(pickle_.add({.kind = Kind::integer, .integer = value}));
  }
  void signed_integer(const Opcode& op) {
    push(pickle_.add({.kind = Kind::integer, .integer = signed_number(take(op.count))}));
  }
  void long_integer(const Opcode& op) {
    const std::uint64_t width = take_number(op.count);
    if (width > 8) pickle_.fail(fmt::format("an integer of {} bytes is out of range", width));
    push(pickle_.add({.kind = Kind::integer, .integer = signed_number(take(width))}));
  }
  void string(const Opcode& op) {
    push(pickle_.add({.kind = op.kind, .bytes = take(take_number(op.count))}));
  }
  void mark(const Opcode&) {
    if (marks_.size() >= Pickle::kMaxValues) pickle_.fail("the pickle nests too deeply");
    marks_.push_back(stack_.size());
  }
  void tuple(const Opcode& op) {
    const Items items = pop(op.count);
    push(pickle_.add({.kind = Kind::tuple}));
    pickle_.link(top(), items);
  }
  void grow(const Opcode& op) {
    const Items items = pop(op.count);
    if (top().kind != op.kind)
      pickle_.fail(fmt::format("expected {}, found {}", name_of(op.kind), name_of(top().kind)));
    if (op.kind == Kind::dict && items.size() % 2 != 0) pickle_.fail("a key has no value");
    pickle_.link(top(), items);
  }
  /// Remembers the top value under a number: the given one, or the count of those so far.
  void put(const Opcode& op) {
    const std::uint64_t index = op.count == 0 ? memoized_ : take_number(op.count);
    if (index >= Pickle::kMaxValues)
      pickle_.fail(fmt::format("memo number {} is out of range", index));
    if (index >= memo_.size()) memo_.resize(index + 1);
    memo_[index] = &top();
    ++memoized_;
  }
  void get(const Opcode& op) {
    const std::uint64_t index = take_number(op.count);
    if (index >= memo_.size() || memo_[index] == nullptr)
      pickle_.fail(fmt::format("memo number {} was never set", index));
    push(memo_[index]);
  }
  /// A frame only groups opcodes for buffered reading; that its bytes are there is all to check.
  void frame(const Opcode& op) {
    if (take_number(op.count) > remaining()) pickle_.fail("a frame is longer than the file");
  }
  void global(const Opcode&) {
    const std::string_view module = take_line();
    push(find_global(pickle_, module, take_line()));
  }
  void stack_global(const Opcode&) {
    const Items names = pop(2);
    if (names[0]->kind != Kind::text || names[1]->kind != Kind::text)
      pickle_.fail("a global is not named by two texts");
    push(find_global(pickle_, names[0]->bytes, names[1]->bytes));
  }
  void call(const Opcode&) {
    const Items items = pop(2);
    push(reduce(pickle_, *items[0], *items[1]));
  }
  void set_state(const Opcode&) {
    const Items state = pop(1);
    build(pickle_, top(), *state.front());
  }

  std::string_view bytes_;
  std::size_t offset_ = 0;
  Pickle pickle_;
  std::vector<PickleValue*> stack_;
  std::vector<std::size_t> marks_;
  std::vector<PickleValue*> memo_;
  std::size_t memoized_ = 0;
};

// Python 2's `str`, which its files use for text and for raw pixels, is bytes.
constexpr std::array<Machine::Opcode, 38> Machine::kOpcodes{{
    {'N', &Machine::constant, 0, Kind::none},      // NONE
    {0x88, &Machine::constant, 1, Kind::boolean},  // NEWTRUE
    {0x89, &Machine::constant, 0, Kind::boolean},  // NEWFALSE
    {']', &Machine::constant, 0, Kind::list},      // EMPTY_LIST
    {'}', &Machine::constant, 0, Kind::dict},      // EMPTY_DICT
    {')', &Machine::constant, 0, Kind::tuple},     // EMPTY_TUPLE
    {'K', &Machine::number, 1},                    // BININT1
    {'M', &Machine::number, 2},                    // BININT2
    {'J', &Machine::signed_integer, 4},            // BININT
    {0x8a, &Machine::long_integer, 1},             // LONG1
    {'U', &Machine::string, 1, Kind::bytes},       // SHORT_BINSTRING
    {'T', &Machine::string, 4, Kind::bytes},       // BINSTRING
    {'C', &Machine::string, 1, Kind::bytes},       // SHORT_BINBYTES
    {'B', &Machine::string, 4, Kind::bytes},       // BINBYTES
    {0x8e, &Machine::string, 8, Kind::bytes},      // BINBYTES8
    {0x96, &Machine::string, 8, Kind::bytes},      // BYTEARRAY8
    {0x8c, &Machine::string, 1, Kind::text},       // SHORT_BINUNICODE
    {'X', &Machine::string, 4, Kind::text},        // BINUNICODE
    {0x8d, &Machine::string, 8, Kind::text},       // BINUNICODE8
    {'(', &Machine::mark},                         // MARK
    {0x85, &Machine::tuple, 1},                    // TUPLE1
    {0x86, &Machine::tuple, 2},                    // TUPLE2
    {0x87, &Machine::tuple, 3},                    // TUPLE3
    {'t', &Machine::tuple, kToMark},               // TUPLE
    {'a', &Machine::grow, 1, Kind::list},          // APPEND
    {'e', &Machine::grow, kToMark, Kind::list},    // APPENDS
    {'s', &Machine::grow, 2, Kind::dict},          // SETITEM
    {'u', &Machine::grow, kToMark, Kind::dict},    // SETITEMS
    {'q', &Machine::put, 1},                       // BINPUT
    {'r', &Machine::put, 4},                       // LONG_BINPUT
    {0x94, &Machine::put, 0},                      // MEMOIZE
    {'h', &Machine::get, 1},                       // BINGET
    {'j', &Machine::get, 4},                       // LONG_BINGET
    {0x95, &Machine::frame, 8},                    // FRAME
    {'c', &Machine::global},                       // GLOBAL
    {0x93, &Machine::stack_global},                // STACK_GLOBAL
    {'R', &Machine::call},                         // REDUCE
    {'b', &Machine::set_state},                    // BUILD
}};

Pickle Machine::run() {
  constexpr std::uint64_t kProto = 0x80, kStop = '.';
  if (take_number(1) != kProto) pickle_.fail("this is not a pickle of protocol 2 or newer");
  const std::uint64_t protocol = take_number(1);
  if (protocol < 2 || protocol > 5)
    pickle_.fail(fmt::format("pickle protocol {} is not supported (2 to 5 are)", protocol));
  for (;;) {
    pickle_.now = offset_;
    const std::uint64_t code = take_number(1);
    if (code == kStop) break;
    const auto opcode = std::ranges::find(kOpcodes, code, &Opcode::code);
    if (opcode == kOpcodes.end())
      pickle_.fail(fmt::format("pickle opcode 0x{:02x} is not one that CIFAR-10 files use", code));
    (this->*opcode->run)(*opcode);
  }
  pickle_.root = pop(1).front();
  if (!stack_.empty() || !marks_.empty()) pickle_.fail("the pickle leaves more than one value");
  if (remaining() > 0)
    pickle_.fail(fmt::format("{} bytes follow the end of the pickle", remaining()));
  return std::move(pickle_);
}

}  // namespace

Pickle read_pickle(std::span<const std::uint8_t> bytes, const std::string& file_name) {
  return Machine(bytes, file_name).run();
}

std::uint64_t unsigned_number(std::string_view little_endian) {
  std::uint64_t value = 0;
  for (std::size_t i = little_endian.size(); i-- > 0;)
    value = value << 8 | std::uint8_t(little_endian[i]);
  return value;
}

std::int64_t signed_number(std::string_view little_endian) {
  if (little_endian.empty()) return 0;
  const unsigned unused = 64 - 8 * unsigned(little_endian.size());
  return std::int64_t(unsigned_number(little_endian) << unused) >> unused;
}

}  // namespace rueda
