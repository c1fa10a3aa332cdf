"""What each call does, in order. The steps that a call is for come first, and their limits add up to less than its
minutes. Then follows what the time that is left allows."""

from dataclasses import dataclass, field

import bench_part
import cases
import first_part
import kernels_part
import ring_part
import tests_part
from runner import Item

PARTS = ("smoke", "tests", "levers", "bench", "kernels", "opponent", "ring", "sanitizer")
RANKS = tests_part.RANKS


@dataclass
class Call:
    what: str
    minutes: float
    steps: list  # what the call is for
    more: list = field(default_factory=list)  # if there is time
    keeps: bool = False  # what it timed or compiled serves later calls
    watched: bool = False  # with the GPU's clocks beside it


def smoke(limit=45):
    return Item("smoke", "smoke", limit, first_part.smoke)


def right():
    programs = [
        Item("tests", f"{program} tests", 80, tests_part.run_tests, (1, program), group="untimed")
        for program in ("cuda", "backend_cuda", "parity_cuda")
    ]
    doctor = Item("tests", "doctor", 50, tests_part.doctor)
    levers = Item("levers", "levers", 60, bench_part.probe_levers)
    properties = Item("smoke", "device properties", 15, first_part.ask_properties)
    return Call("does it live", 4.9, [smoke(100), *programs, doctor, levers], [properties])


def of_case(part, name, case, limit, work, *words):
    return Item(part, name, limit, work, (case, *words), needs=15, after="smoke")


def goal(case, limit):
    return of_case("bench", case.name, case, limit, bench_part.measure_goal)


def goals():
    rates = Item("bench", "rates", 30, bench_part.probe, needs=15)
    limits = (90, 70, 185, 120)
    steps = [goal(case, limit) for case, limit in zip(cases.GOALS, limits)]
    more = [goal(case, 90) for case in cases.OTHERS]
    return Call("speed", 9.3, [smoke(), rates, *steps], more, keeps=True, watched=True)


def inside(what, case, limit, work, *words):
    return of_case("kernels", f"{what} of {case.name}", case, limit, work, *words)


def where():
    both = (cases.RESNET18, cases.RESNET50)
    steps = [inside("kernels", case, limit, kernels_part.count_kernels) for case, limit in zip(both, (70, 110))]
    steps += [
        inside("CUDA graphs", cases.RESNET18, 60, bench_part.with_and_without, "RUEDA_CUDA_GRAPHS"),
        inside("early kernels", cases.RESNET18, 60, bench_part.with_and_without, "RUEDA_CUDA_PDL"),
        inside("PyTorch's cuDNN", cases.RESNET18, 140, bench_part.on_torch_cudnn),
    ]
    more = [inside("layers", case, 60, kernels_part.time_layers) for case in both]
    more += [inside("kept plans", case, 60, kernels_part.keep_plans) for case in both]
    return Call("where the time goes", 8.6, [smoke(), *steps], more, keeps=True)


def opponent():
    limits = (220, 110, 110)
    steps = [
        of_case("opponent", f"{case.name}, beside PyTorch", case, limit, bench_part.compare)
        for case, limit in zip(cases.OPPONENTS, limits)
    ]
    return Call("PyTorch beside it", 8.6, [smoke(), *steps], keeps=True, watched=True)


def sanitizers(pairs, group):
    return [
        Item("sanitizer", f"{tool} of {program}", 110, tests_part.sanitize, (tool, program), needs=20, group=group)
        for tool, program in pairs
    ]


def sums(count, name, limit, *words):
    return Item("ring", f"all-reduce on {count}, {name}", limit, ring_part.measure, (count, *words), needs=10)


def ranks():
    several = RANKS[1:]
    steps = [Item("tests", f"train on {count}", 20, tests_part.same_bits, (count,)) for count in RANKS]
    steps += [Item("tests", f"shared sums on {count}", 20, tests_part.shared_bits, (count,)) for count in several]
    steps += [
        Item("tests", "4 ranks equal 4 micro-batches", 20, tests_part.fixed_order),
        Item("tests", "balance on 2", 20, tests_part.balanced),
        Item("tests", "overlap on 2", 15, tests_part.overlapped),
        *(sums(count, "device", 15, "device", "ring,fixed") for count in several),
        *(sums(count, "shared", 15, "device", "shared") for count in several),
        Item("ring", "lengths on 2", 25, ring_part.sweep, (2,), needs=10),
        Item("ring", "lengths on 2, under MPS", 45, ring_part.sweep_under_mps, (2,), needs=10),
        *sanitizers(tests_part.SANITIZERS, "first"),
    ]  # fmt: skip
    more = [sums(count, "staged", 30, "staged", "ring,fixed") for count in several]
    more += [sums(count, f"{name}, by MPI", 45, name, "mpi") for count in several for name in ("device", "staged")]
    more += [Item("tests", f"mpi tests on {count}", 60, tests_part.run_tests, (count, "mpi")) for count in RANKS]
    more += sanitizers(tests_part.MORE_SANITIZERS, "more")
    return Call("ranks that share the GPU, memory errors", 7.6, [smoke(), *steps], more)


CALLS = {"1": right(), "2": goals(), "3": where(), "4": opponent(), "5": ranks()}


def every_call():
    """All calls as one; a step that is in several is done once."""
    steps = {(one.part, one.name, one.work): one for call in CALLS.values() for one in [*call.steps, *call.more]}
    minutes = sum(call.minutes for call in CALLS.values())
    return Call("all of them", minutes, list(steps.values()), keeps=True, watched=True)
