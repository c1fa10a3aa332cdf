#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "interpreter.hpp"
#include "numbers.hpp"

// Instructions that work on registers alone: a function for each, on one thread's values. The types
// of its parameters are the operands'.

namespace rueda::ptx {
namespace {

template <typename T>
constexpr Kind kKind = std::is_same_v<T, bool> ? Kind::predicate
                       : sizeof(T) == 8        ? Kind::wide
                                               : Kind::narrow;

/// An operand's values, one for each thread of a warp.
template <typename T>
struct Source {
  const u32* narrow = nullptr;
  const u64* wide = nullptr;
  Mask bits = 0;

  Source(const Warp& w, Operand o) {
    if constexpr (kKind<T> == Kind::predicate) bits = w.predicates[o.row];
    if constexpr (kKind<T> == Kind::narrow) narrow = w.narrow[o.row].data();
    if constexpr (kKind<T> == Kind::wide) wide = w.wide[o.row].data();
  }
  T operator[](unsigned lane) const {
    if constexpr (kKind<T> == Kind::predicate) return (bits >> lane & 1U) != 0;
    if constexpr (sizeof(T) == 8) return std::bit_cast<T>(wide[lane]);
    if constexpr (sizeof(T) == 4) return std::bit_cast<T>(narrow[lane]);
    if constexpr (sizeof(T) == 2) return T(narrow[lane]);
  }
};

/// The bits that a result leaves in its register; arithmetic gives one NaN only.
u32 bits_of(f32 v) { return v == v ? std::bit_cast<u32>(v) : 0x7fffffffU; }
u64 bits_of(f64 v) { return v == v ? std::bit_cast<u64>(v) : 0x7fffffffffffffffU; }
u32 bits_of(u16 v) { return v; }
u32 bits_of(u32 v) { return v; }
u32 bits_of(s32 v) { return u32(v); }
u64 bits_of(u64 v) { return v; }
u64 bits_of(s64 v) { return u64(v); }

template <typename Row, typename Results>
void put(Row& row, const Results& results, Mask active) {
  if (active == ~Mask{0}) {
    std::copy(results.begin(), results.end(), row.begin());
    return;
  }
  for (unsigned lane = 0; lane < kWarp; ++lane)
    row[lane] = (active >> lane & 1U) != 0 ? results[lane] : row[lane];
}

template <auto f, typename R, typename... S>
void apply(Warp& w, Operand to, Mask active, const S... sources) {
  if constexpr (std::is_same_v<R, bool>) {
    Mask result = 0;
    for (unsigned lane = 0; lane < kWarp; ++lane) result |= Mask(f(sources[lane]...)) << lane;
    Mask& old = w.predicates[to.row];
    old = (old & ~active) | (result & active);
  } else {
    std::array<decltype(bits_of(R())), kWarp> results;
    for (unsigned lane = 0; lane < kWarp; ++lane) results[lane] = bits_of(f(sources[lane]...));
    if constexpr (kKind<R> == Kind::wide)
      put(w.wide[to.row], results, active);
    else
      put(w.narrow[to.row], results, active);
  }
}

template <auto f, typename R, typename... A, std::size_t... n>
void step(Interpreter& m, const Instruction& i, Mask active, std::index_sequence<n...>) {
  m.check_known(i, active);
  apply<f, R>(m.warp(), i.to[0], active, Source<A>(m.warp(), i.from[n])...);
  m.set_known(i, active);
}

template <auto f, typename R, typename... A>
Form form_of(R (*)(A...)) {
  const Step run = [](Interpreter& m, const Instruction& i, Mask active) {
    step<f, R, A...>(m, i, active, std::index_sequence_for<A...>());
  };
  return {run, {kKind<R>}, {kKind<A>...}};
}

template <auto f>
Form on_registers() {
  return form_of<f>(+f);
}

using Forms = std::map<std::string, Form, std::less<>>;

template <typename T>
T same(T a) {
  return a;
}

template <typename T>
T chosen(T a, T b, bool first) {
  return first ? a : b;
}

Forms moves() {
  return {
      {"mov.pred", on_registers<same<bool>>()},  {"mov.u16", on_registers<same<u16>>()},
      {"mov.b16", on_registers<same<u16>>()},    {"mov.u32", on_registers<same<u32>>()},
      {"mov.b32", on_registers<same<u32>>()},    {"mov.f32", on_registers<same<u32>>()},
      {"mov.u64", on_registers<same<u64>>()},    {"mov.b64", on_registers<same<u64>>()},
      {"mov.f64", on_registers<same<u64>>()},    {"cvta.to.global.u64", on_registers<same<u64>>()},
      {"selp.u16", on_registers<chosen<u16>>()}, {"selp.b16", on_registers<chosen<u16>>()},
      {"selp.b32", on_registers<chosen<u32>>()}, {"selp.u32", on_registers<chosen<u32>>()},
      {"selp.s32", on_registers<chosen<u32>>()}, {"selp.f32", on_registers<chosen<u32>>()},
      {"selp.b64", on_registers<chosen<u64>>()}, {"selp.u64", on_registers<chosen<u64>>()},
      {"selp.s64", on_registers<chosen<u64>>()}, {"selp.f64", on_registers<chosen<u64>>()},
  };
}

Forms bit_operations() {
  return {
      {"and.pred", on_registers<[](bool a, bool b) { return a && b; }>()},
      {"or.pred", on_registers<[](bool a, bool b) { return a || b; }>()},
      {"xor.pred", on_registers<[](bool a, bool b) { return a != b; }>()},
      {"not.pred", on_registers<[](bool a) { return !a; }>()},
      {"and.b16", on_registers<[](u16 a, u16 b) { return u16(a & b); }>()},
      {"or.b16", on_registers<[](u16 a, u16 b) { return u16(a | b); }>()},
      {"and.b32", on_registers<[](u32 a, u32 b) { return a & b; }>()},
      {"or.b32", on_registers<[](u32 a, u32 b) { return a | b; }>()},
      {"xor.b32", on_registers<[](u32 a, u32 b) { return a ^ b; }>()},
      {"not.b32", on_registers<[](u32 a) { return ~a; }>()},
      {"and.b64", on_registers<[](u64 a, u64 b) { return a & b; }>()},
      {"or.b64", on_registers<[](u64 a, u64 b) { return a | b; }>()},
      {"xor.b64", on_registers<[](u64 a, u64 b) { return a ^ b; }>()},
      {"not.b64", on_registers<[](u64 a) { return ~a; }>()},
      {"shl.b32", on_registers<shifted_left<u32>>()},
      {"shl.b64", on_registers<shifted_left<u64>>()},
      {"shr.u16", on_registers<shifted_right<u16>>()},
      {"shr.u32", on_registers<shifted_right<u32>>()},
      {"shr.s32", on_registers<shifted_right<s32>>()},
      {"shr.u64", on_registers<shifted_right<u64>>()},
      {"shr.s64", on_registers<shifted_right<s64>>()},
      {"prmt.b32", on_registers<permuted>()},
      {"bfi.b64", on_registers<inserted>()},
  };
}

Forms integer_arithmetic() {
  return {
      {"add.s16", on_registers<[](u16 a, u16 b) { return u16(a + b); }>()},
      {"add.s32", on_registers<[](u32 a, u32 b) { return a + b; }>()},
      {"add.s64", on_registers<[](u64 a, u64 b) { return a + b; }>()},
      {"sub.s32", on_registers<[](u32 a, u32 b) { return a - b; }>()},
      {"sub.s64", on_registers<[](u64 a, u64 b) { return a - b; }>()},
      {"neg.s32", on_registers<[](u32 a) { return 0 - a; }>()},
      {"neg.s64", on_registers<[](u64 a) { return 0 - a; }>()},
      {"mul.lo.s32", on_registers<[](u32 a, u32 b) { return a * b; }>()},
      {"mul.lo.s64", on_registers<[](u64 a, u64 b) { return a * b; }>()},
      {"mad.lo.s32", on_registers<[](u32 a, u32 b, u32 c) { return a * b + c; }>()},
      {"mad.lo.s64", on_registers<[](u64 a, u64 b, u64 c) { return a * b + c; }>()},
      {"mul.wide.u32", on_registers<[](u32 a, u32 b) { return u64(a) * b; }>()},
      {"mul.wide.s32", on_registers<[](s32 a, s32 b) { return s64(a) * b; }>()},
      {"div.u32", on_registers<divided<u32>>()},
      {"div.s32", on_registers<divided<s32>>()},
      {"div.u64", on_registers<divided<u64>>()},
      {"rem.u32", on_registers<rest<u32>>()},
      {"rem.s32", on_registers<rest<s32>>()},
      {"rem.u64", on_registers<rest<u64>>()},
      {"min.s32", on_registers<[](s32 a, s32 b) { return a < b ? a : b; }>()},
      {"max.s32", on_registers<[](s32 a, s32 b) { return b < a ? a : b; }>()},
      {"min.u32", on_registers<[](u32 a, u32 b) { return a < b ? a : b; }>()},
      {"max.u32", on_registers<[](u32 a, u32 b) { return b < a ? a : b; }>()},
      {"min.u64", on_registers<[](u64 a, u64 b) { return a < b ? a : b; }>()},
      {"max.u64", on_registers<[](u64 a, u64 b) { return b < a ? a : b; }>()},
  };
}

Forms conversions() {
  return {
      {"cvt.u64.u32", on_registers<[](u32 a) { return u64(a); }>()},
      {"cvt.s64.s32", on_registers<[](s32 a) { return s64(a); }>()},
      {"cvt.u32.u64", on_registers<[](u64 a) { return u32(a); }>()},
      {"cvt.u32.u16", on_registers<[](u16 a) { return u32(a); }>()},
      {"cvt.s32.s8", on_registers<[](u16 a) { return s32(std::int8_t(a)); }>()},
      {"cvt.u16.u32", on_registers<[](u32 a) { return u16(a); }>()},
      {"cvt.u16.u64", on_registers<[](u64 a) { return u16(a); }>()},
      {"cvt.u64.u16", on_registers<[](u16 a) { return u64(a); }>()},
      {"cvt.rn.f32.u16", on_registers<[](u16 a) { return f32(a); }>()},
      {"cvt.rn.f32.u32", on_registers<[](u32 a) { return f32(a); }>()},
      {"cvt.rn.f32.s32", on_registers<[](s32 a) { return f32(a); }>()},
      {"cvt.rn.f32.u64", on_registers<[](u64 a) { return f32(a); }>()},
      {"cvt.rn.f64.u64", on_registers<[](u64 a) { return f64(a); }>()},
      {"cvt.f64.f32", on_registers<[](f32 a) { return f64(a); }>()},
      {"cvt.rn.f32.f64", on_registers<[](f64 a) { return f32(a); }>()},
      {"cvt.rzi.s32.f32", on_registers<to_s32>()},
      {"cvt.sat.f32.f32",
       on_registers<[](f32 a) { return 0.0F < a ? (a < 1.0F ? a : 1.0F) : 0.0F; }>()},
      {"cvt.rn.bf16.f32", on_registers<to_bf16>()},
      {"cvt.rn.bf16x2.f32",
       on_registers<[](f32 a, f32 b) { return u32(to_bf16(a)) << 16U | to_bf16(b); }>()},
  };
}

Forms float_arithmetic() {
  return {
      {"add.rn.f32", on_registers<[](f32 a, f32 b) { return a + b; }>()},
      {"sub.rn.f32", on_registers<[](f32 a, f32 b) { return a - b; }>()},
      {"mul.rn.f32", on_registers<[](f32 a, f32 b) { return a * b; }>()},
      {"div.rn.f32", on_registers<[](f32 a, f32 b) { return a / b; }>()},
      {"rcp.rn.f32", on_registers<[](f32 a) { return 1.0F / a; }>()},
      {"sqrt.rn.f32", on_registers<[](f32 a) { return std::sqrt(a); }>()},
      {"sqrt.rn.f64", on_registers<[](f64 a) { return std::sqrt(a); }>()},
      {"fma.rn.f32", on_registers<[](f32 a, f32 b, f32 c) { return std::fma(a, b, c); }>()},
      {"fma.rm.f32", on_registers<fma_down>()},
      // Within two units of the last place on a device; here the nearest number.
      {"ex2.approx.ftz.f32",
       on_registers<[](f32 a) { return flushed(f32(std::exp2(f64(flushed(a))))); }>()},
      {"neg.f32", on_registers<[](u32 a) { return a ^ 0x80000000U; }>()},
      {"abs.f32", on_registers<[](u32 a) { return a & 0x7fffffffU; }>()},
      {"add.rn.f64", on_registers<[](f64 a, f64 b) { return a + b; }>()},
      {"sub.rn.f64", on_registers<[](f64 a, f64 b) { return a - b; }>()},
      {"mul.rn.f64", on_registers<[](f64 a, f64 b) { return a * b; }>()},
      {"div.rn.f64", on_registers<[](f64 a, f64 b) { return a / b; }>()},
  };
}

template <typename T>
void add_comparisons(Forms& forms, const std::string& type) {
  forms["setp.eq." + type] = on_registers<[](T a, T b) { return a == b; }>();
  forms["setp.ne." + type] = on_registers<[](T a, T b) { return a != b; }>();
  forms["setp.lt." + type] = on_registers<[](T a, T b) { return a < b; }>();
  forms["setp.le." + type] = on_registers<[](T a, T b) { return a <= b; }>();
  forms["setp.gt." + type] = on_registers<[](T a, T b) { return b < a; }>();
  forms["setp.ge." + type] = on_registers<[](T a, T b) { return b <= a; }>();
}

/// Also those of which a NaN is part, or decides.
template <typename T>
void add_float_comparisons(Forms& forms, const std::string& type) {
  add_comparisons<T>(forms, type);
  forms["setp.num." + type] = on_registers<[](T a, T b) { return a == a && b == b; }>();
  forms["setp.nan." + type] = on_registers<[](T a, T b) { return a != a || b != b; }>();
  forms["setp.ltu." + type] = on_registers<[](T a, T b) { return !(b <= a); }>();
  forms["setp.leu." + type] = on_registers<[](T a, T b) { return !(b < a); }>();
  forms["setp.gtu." + type] = on_registers<[](T a, T b) { return !(a <= b); }>();
  forms["setp.geu." + type] = on_registers<[](T a, T b) { return !(a < b); }>();
  forms["setp.neu." + type] = on_registers<[](T a, T b) { return a != b; }>();
}

Forms comparisons() {
  Forms forms;
  add_comparisons<u16>(forms, "u16");
  add_comparisons<u32>(forms, "u32");
  add_comparisons<s32>(forms, "s32");
  add_comparisons<u64>(forms, "u64");
  add_comparisons<s64>(forms, "s64");
  add_float_comparisons<f32>(forms, "f32");
  add_float_comparisons<f64>(forms, "f64");
  forms["setp.eq.s16"] = forms["setp.eq.u16"];
  forms["setp.ne.s16"] = forms["setp.ne.u16"];
  return forms;
}

Forms all_forms() {
  Forms all;
  for (Forms forms : {moves(), bit_operations(), integer_arithmetic(), conversions(),
                      float_arithmetic(), comparisons()})
    all.merge(forms);
  return all;
}

}  // namespace

const Form* find_form(std::string_view name) {
  static const auto& forms = *new Forms(all_forms());
  const auto found = forms.find(name);
  return found == forms.end() ? nullptr : &found->second;
}

}  // namespace rueda::ptx
