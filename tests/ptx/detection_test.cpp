#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "interpreter.hpp"

// Whether the machine sees what it is there to see: small kernels, each with one fault.

namespace rueda::ptx {
namespace {

/// A kernel with two pointers and a number, a[] in %rd1, b[] in %rd2, the thread in %r1, the block
/// in %r2, 4 times the thread in %rd3; and room in shared memory.
std::string kernel(const std::string& body) {
  return R"(.version 9.0
.target sm_80
.address_size 64
.visible .entry k(
.param .u64 k_param_0,
.param .u64 k_param_1
)
{
.reg .pred %p<9>;
.reg .f32 %f<9>;
.reg .b32 %r<30>;
.reg .b64 %rd<30>;
.shared .align 4 .b8 room[256];
.shared .align 4 .b8 other[4];
ld.param.u64 %rd1, [k_param_0];
ld.param.u64 %rd2, [k_param_1];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd4, %rd1, %rd3;
mov.u32 %r3, room;
shl.b32 %r4, %r1, 2;
add.s32 %r4, %r3, %r4;
)" + body +
         "\nret;\n}\n";
}

struct Result {
  std::vector<std::uint32_t> a = std::vector<std::uint32_t>(64, 7), b = {1, 0, 0, 0};
  std::string findings;
};

Result run(const std::string& body, unsigned blocks = 1, unsigned threads = 64,
           Settings settings = {}) {
  Result result;
  const Program program = read_program(kernel(body));
  const void* arguments[] = {result.a.data(), result.b.data()};
  std::vector<std::byte> parameters(sizeof arguments);
  std::memcpy(parameters.data(), static_cast<const void*>(arguments), sizeof arguments);
  settings.find_memory = [&](std::uintptr_t address) -> std::optional<Range> {
    for (const auto* array : {&result.a, &result.b}) {
      const auto begin = reinterpret_cast<std::uintptr_t>(array->data());
      const Range range{begin, begin + 4 * array->size()};
      if (address >= range.begin && address < range.end) return range;
    }
    return std::nullopt;
  };
  for (settings.seed = 1; settings.seed < 6; ++settings.seed) {
    const Shape grid{blocks, 1}, block{threads, 1};
    for (const Finding& f :
         Interpreter(program.at("k"), grid, block, parameters, settings).run().findings)
      result.findings += f.what + '\n';
  }
  return result;
}

using Catch::Contains;

TEST_CASE("PTX interpreter: a kernel without a fault") {
  const Result result = run("add.s32 %r5, %r1, 5;\nst.global.u32 [%rd4], %r5;");
  CHECK(result.findings.empty());
  CHECK(result.a[0] == 5);
  CHECK(result.a[63] == 68);
}

TEST_CASE("PTX interpreter: an instruction that it does not know") {
  CHECK_THROWS_WITH(run("tanh.approx.f32 %f1, %f2;"), Contains("PTX line 24") && Contains("tanh"));
  CHECK_THROWS_WITH(run("ld.global.nc.f32 %f1, [%rd1];"), Contains("not known"));
}

TEST_CASE("PTX interpreter: accesses out of place") {
  CHECK_THAT(run("st.global.u32 [%rd4+4], %r1;").findings,
             Contains("crosses the end") || Contains("no memory"));
  CHECK_THAT(run("st.global.u64 [%rd4], %rd3;").findings, Contains("not aligned to 8 bytes"));
  CHECK_THAT(run("st.shared.u32 [%r4+4], %r1;").findings, Contains("shared address"));
  CHECK_THAT(run("mov.u32 %r5, other;\nst.shared.u32 [%r4+16], %r1;").findings,
             Contains("shared address"));
  CHECK_THAT(run("ld.param.u64 %rd9, [k_param_1+8];").findings, Contains("parameter"));
}

TEST_CASE("PTX interpreter: what was not written") {
  CHECK_THAT(run("add.s32 %r5, %r9, 1;").findings, Contains("a register is read"));
  CHECK_THAT(run("@%p1 ret;").findings, Contains("a predicate is read"));
  CHECK_THAT(run("ld.shared.u32 %r5, [%r4];").findings, Contains("shared memory is read"));
  const std::string writes = "mov.u32 %r5, 0xA5A5A5A5;\nst.global.u32 [%rd4], %r5;\n";
  CHECK_THAT(run(writes + "ld.global.u32 %r6, [%rd4];").findings, Contains("memory is read, but"));
}

const std::string kTurn = "xor.b32 %r5, %r4, 4;\n";  // the place of the neighbour

TEST_CASE("PTX interpreter: races in shared memory") {
  const std::string writes = kTurn + "st.shared.u32 [%r4], %r1;\n",
                    reads = "ld.shared.u32 %r6, [%r5];\n";
  CHECK_THAT(run(writes + reads).findings, Contains("race in shared memory"));
  CHECK(run(writes + "bar.sync 0;\n" + reads).findings.empty());
  CHECK_THAT(run(writes + "bar.sync 0;\n" + reads + "st.shared.u32 [%r4], %r2;").findings,
             Contains("race in shared memory"));
  CHECK_THAT(run("st.shared.u32 [%r3], %r2;").findings, Contains("race in shared memory"));
}

TEST_CASE("PTX interpreter: races in global memory") {
  CHECK_THAT(run("st.global.u32 [%rd1], %r2;").findings, Contains("a write races"));
  CHECK_THAT(run("st.global.u32 [%rd4], %r2;", 2).findings, Contains("a write races"));
  CHECK(run("atom.global.add.u32 %r5, [%rd2], 1;", 3).findings.empty());
  CHECK_THAT(run("atom.global.add.u32 %r5, [%rd2], 1;\nld.global.u32 %r6, [%rd2];", 3).findings,
             Contains("a read races"));
}

/// Each block writes, then counts; the last one reads what the others wrote.
std::string last_block(const std::string& before, const std::string& after) {
  return "setp.ne.s32 %p1, %r1, 0;\nmul.wide.u32 %rd5, %r2, 4;\nadd.s64 %rd6, %rd1, %rd5;\n"
         "@%p1 bra $WRITTEN;\nst.global.u32 [%rd6], %r2;\n$WRITTEN:\n" +
         before +
         "@%p1 bra $COUNTED;\natom.global.add.u32 %r5, [%rd2], 1;\nst.shared.u32 [%r3], %r5;\n"
         "$COUNTED:\n" +
         after +
         "ld.shared.u32 %r6, [%r3];\nadd.s32 %r6, %r6, -1;\nrem.u32 %r6, %r6, 3;\n"
         "setp.ne.s32 %p2, %r6, 2;\n@%p2 bra $END;\n"
         "setp.gt.u32 %p3, %r1, 2;\n@%p3 bra $END;\nld.global.u32 %r7, [%rd4];\n$END:\n";
}

TEST_CASE("PTX interpreter: the last block reads what all have written") {
  const std::string fence = "membar.gl;\n", barrier = "bar.sync 0;\n";
  CHECK(run(last_block(fence + barrier, barrier + fence), 3).findings.empty());
  CHECK(run(last_block(barrier + fence, fence + barrier), 3).findings.empty());
  for (const auto& [before, after] :
       {std::pair{barrier, barrier + fence}, {fence + barrier, barrier}})
    CHECK_THAT(run(last_block(before, after), 3).findings, Contains("a read races with a write"));
}

TEST_CASE("PTX interpreter: an announcement to the host comes after a fence of the system") {
  const std::string writes = "st.global.u32 [%rd4], %r1;\n", system = "membar.sys;\n",
                    announces = "st.volatile.global.u32 [%rd4], %r1;\n";
  CHECK(run(writes + system + announces).findings.empty());
  for (const std::string& before :
       {writes, writes + "membar.gl;\n", system + writes,
        system + "atom.global.add.u32 %r5, [%rd2], 1;\n", system + announces})
    CHECK_THAT(run(before + announces).findings, Contains("without a fence of the system"));
}

TEST_CASE("PTX interpreter: a kernel that begins early waits for the one before") {
  const auto run_early = [](const std::string& body) {
    return run(body, 1, 64, {.early = true}).findings;
  };
  const std::string wait = "griddepcontrol.wait;\n", next = "griddepcontrol.launch_dependents;\n",
                    ends = "a thread ends that has not waited",
                    half = "setp.lt.u32 %p1, %r1, 48;\n@%p1 bra $A;\n";
  for (const std::string access : {"st.global.u32 [%rd4], %r1;\n", "ld.global.u32 %r5, [%rd4];\n",
                                   "atom.global.add.u32 %r5, [%rd2], 1;\n"}) {
    CHECK(run_early(wait + next + access).empty());
    CHECK_THAT(run_early(access + wait), Contains("memory is touched before"));
    CHECK_THAT(run_early(half + wait + "$A:\n" + access), Contains("memory is touched before"));
    CHECK(run(access).findings.empty());  // begins when the one before has ended
  }
  CHECK(run_early("st.shared.u32 [%r4], %r1;\n" + wait).empty());
  CHECK_THAT(run_early(next + wait), Contains("the next kernel may begin"));
  CHECK_THAT(run_early(""), Contains(ends));
  CHECK_THAT(run_early(half + wait + "$A:\n"), Contains(ends));
}

TEST_CASE("PTX interpreter: a kernel that a fault makes endless is ended") {
  const std::string for_ever = "$A:\nst.global.u32 [%rd4+1024], %r1;\nbra $A;\n";
  CHECK_THAT(run(for_ever).findings, Contains("no memory"));
}

TEST_CASE("PTX interpreter: threads that wait for others") {
  const std::string half = "setp.lt.u32 %p1, %r1, 48;\n";
  CHECK_THAT(run(half + "@%p1 bra $A;\nbar.sync 0;\nbra $B;\n$A:\nbar.sync 0;\n$B:\n").findings,
             Contains("different barriers"));
  const std::string shuffle = "shfl.sync.down.b32 %r6|%p2, %r1, 1, 31, -1;\n";
  CHECK(run(shuffle).findings.empty());
  CHECK_THAT(run(half + "@%p1 bra $A;\n" + shuffle + "$A:\n").findings,
             Contains("that have ended") || Contains("do not come"));
}

TEST_CASE("PTX interpreter: threads that part meet again") {
  const Result result =
      run("and.b32 %r5, %r1, 1;\nsetp.eq.s32 %p1, %r5, 0;\nmov.u32 %r6, 1;\n@%p1 bra $A;\n"
          "mov.u32 %r6, 2;\n$A:\nshfl.sync.down.b32 %r7|%p2, %r6, 1, 31, -1;\nst.global.u32 "
          "[%rd4], %r7;");
  CHECK(result.findings.empty());
  CHECK(result.a[0] == 2);
  CHECK(result.a[1] == 1);
  CHECK(result.a[31] == 2);  // there is no next one
}

}  // namespace
}  // namespace rueda::ptx
