#!/usr/bin/env python3
"""How jobs/gpu-check.sh reads what tools say, judges figures by what was expected, and shares out its minutes; and the
scripts that run in PyTorch, over a module that only pretends to be it."""

import importlib
import sys
import tempfile
import types
import unittest
from pathlib import Path
from time import monotonic
from unittest import mock

from rueda_runs import main

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("gpu", "bench")]

import bench_part  # noqa: E402
import calls  # noqa: E402
import cases  # noqa: E402
import expected  # noqa: E402
import gpu_check  # noqa: E402
import gpu_watch  # noqa: E402
import kernels_part  # noqa: E402
import report  # noqa: E402
import ring_part  # noqa: E402
from runner import Item, run_items  # noqa: E402
from tools import Tools  # noqa: E402

HOPPER = "_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize64x64x64_warpgroupsize1x1x1_g1_execute_"
COLUMNS = "rueda::each_pack_of_columns<8, rueda::<unnamed>::"
# As ncu of CUDA 13 calls what a step of ResNet-18 launches on an H100; expected kind.
NAMES = {
    f"sm90_xmma_fprop_implicit_gemm{HOPPER}segment_k_off_kernel__5x_cudnn": "convolutions",
    f"sm90_xmma_wgrad_indexed_implicit_gemm{HOPPER}segment_k_on_kernel__5x_cudnn": "convolutions",
    f"sm90_xmma_wgrad_indexed_implicit_gemm{HOPPER}split_k_kernel__5x_cudnn": "beside convolutions",
    "cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816dgrad_optimized_bf16_64x64>": "convolutions",
    "cutlass__5x_cudnn::Kernel<conv::ImplicitGemmConvolution<conv::ImplicitGemmMultistage<64, 128>>>": "convolutions",
    "cutlass__5x_cudnn::Kernel<reduction::ReduceSplitK<cutlass__5x_cudnn::MatrixShape<4, 256>>>": "beside convolutions",
    "cudnn_generated_fort_native_sm80_convFwd_knob_21_128x128x32_4_0": "convolutions",
    "cudnn_generated_fort_native_sm90_convBwdFilter_knob_2_128x128x64_5_0": "convolutions",
    "cask_plugin__5x_cudnn::init_device_workspace_kernel<xmma__5x_cudnn::Params>": "beside convolutions",
    "sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize32x32x8_execute_kernel__5x_cublas": "dense layer",
    "sgemm_largek_lds64<1, 0, 5>": "dense layer",
    f"{COLUMNS}StatisticsSums<kernels::Bfloat16>>": "batch norm: statistics",
    f"{COLUMNS}GradientSums<kernels::Bfloat16, 1>>": "batch norm: gradient sums",
    f"{COLUMNS}InputGradient<kernels::Bfloat16, 0>>": "batch norm: input gradient",
    f"{COLUMNS}Apply<kernels::Bfloat16, 1>>": "batch norm: apply",
    "rueda::each_pack<4, rueda::<unnamed>::SgdUpdate>": "update",
    "rueda::each_pack<8, rueda::<unnamed>::Narrow>": "all others",
}


def written(rows):
    """What ncu writes of kernels: name, ns, bytes read, bytes written."""
    words = [["ID", "Process Name", "Kernel Name", *kernels_part.METRICS], ["", "", "", "ns", "byte", "byte"]]
    words += [[str(number), "rueda", *map(str, row)] for number, row in enumerate(rows)]
    lines = [",".join(f'"{word}"' for word in row) for row in words]
    return "\n".join(["==PROF== Connected to process 5 (/bin/rueda)", *lines, "==PROF== Disconnected"])


class Kernels(unittest.TestCase):
    def test_every_kernel_has_its_kind(self):
        self.assertEqual({name: kernels_part.kind_of(name) for name in NAMES}, NAMES)

    def test_sums_by_kind(self):
        rows = kernels_part.kernels_in(written((name, "1,500", 2_000_000, "500,000") for name in NAMES))
        sums = kernels_part.by_kind(rows)
        convolutions = sums["convolutions"]
        self.assertEqual((convolutions["launches"], convolutions["microseconds"], convolutions["MB"]), (6, 9, 15))
        self.assertEqual(sums["all"]["launches"], len(NAMES))
        for what in ("launches", "microseconds", "MB"):
            self.assertAlmostEqual(sum(one[what] for kind, one in sums.items() if kind != "all"), sums["all"][what])
        self.assertIsNone(kernels_part.by_kind([])["dense layer"]["microseconds a launch"])

    def test_the_plan_stands_beside_the_measurement(self):
        said = """Roofline of a training step of resnet18, bf16, batch of 128, on H100: 790 TFLOP/s, 3 TB/s
  part                        launches  GFLOP      MB  best us  plan us
  convolutions                      59  3.334   7.781    4.484   11.5
  batch norm: apply                 20      -   2.950    0.977    1.25
  all                              162  3.335  22.713    9.429   20.5

Layers that hold it back most
  layer           launches  GFLOP     MB  floor us  plan us
  layer1.0.conv2         3  0.226  0.788     0.282    0.789
"""
        plan = kernels_part.plan_by_kind(said, 100)
        self.assertEqual(plan, {"convolutions": 1150, "batch norm: apply": 125, "all": 2050})
        kinds = kernels_part.by_kind(kernels_part.kernels_in(written((name, 2_000, 0, 0) for name in NAMES)))
        table = next(report.kernels_tables([{"name": "a", "data": {"kinds": kinds, "plan": plan}}]))
        self.assertIn("| convolutions | 6 | 12.0 | 1150.00 | 0.0 | 2.00 |", table)
        self.assertIn("| dense layer | 2 | 4.0 |  | 0.0 | 2.00 |", table)

    def test_what_runs_beside_others_is_the_sum_of_kernels_less_the_step(self):
        kernels = {"name": f"kernels of {cases.RESNET18.name}", "status": "passed",
                   "data": {"kinds": {"all": {"microseconds": 2_598}}}}  # fmt: skip
        of = cases.RESNET18
        self.assertEqual(bench_part.hidden([{"name": "smoke", "status": "passed"}, kernels], of, 2_400), 198)
        self.assertIsNone(bench_part.hidden([kernels], cases.LARGE, 2_400))
        self.assertIsNone(bench_part.hidden([{**kernels, "status": "failed", "data": None}], of, 2_400))

    def test_what_a_switch_saves_of_a_step(self):
        states, speeds = [], iter((90, 80, 110))

        def run(*_, **environment):
            states.append(environment["RUEDA_CUDA_PDL"])
            return {"images_per_second": next(speeds)}

        with mock.patch.multiple(bench_part, run_rueda=run, model_of=lambda *_: ({}, 1)):
            found = bench_part.with_and_without(None, Tools(programs={}), cases.RESNET18, "RUEDA_CUDA_PDL")
        self.assertEqual(states, ["on", "off", "on"])
        self.assertAlmostEqual(found["microseconds saved"], 128e6 / 80 - 128e6 / 100)
        self.assertEqual(found["on_is_times_as_fast"], 1.25)

    def test_one_step_is_asked_for(self):
        words = [str(word) for word in kernels_part.NCU_WORDS]
        self.assertIn("--nvtx --nvtx-include step 1/ --csv", " ".join(words))
        self.assertNotIn("--launch-count", words)  # a limit would cut a step short
        loop = (ROOT / "src" / "train" / "train_loop.cpp").read_text(encoding="utf-8")
        self.assertIn('NamedRange range(replica_.backend(), "step " + std::to_string(step))', loop)


def step_of(call, name):
    return next((one for one in [*calls.CALLS[call].steps, *calls.CALLS[call].more] if one.name == name), None)


class Expected(unittest.TestCase):
    def test_each_figure_is_of_a_step_of_its_call(self):
        figures = expected.read()["figures"]
        for figure in figures:
            self.assertIsNotNone(step_of(figure["call"], figure["step"]), figure)
            self.assertTrue(figure["says"], figure)
            self.assertEqual("is" in figure, figure["figure"] == ["status"], figure)
            low, high = figure.get("within", (None, None))
            self.assertTrue("is" in figure or low is not None or high is not None, figure)
            self.assertLessEqual(low or 0, high or low or 0, figure)
        self.assertEqual({figure["call"] for figure in figures}, set(calls.CALLS))

    def verdict(self, value, **figure):
        return expected.verdict({"within": [10, 20], **figure}, value)

    def test_verdicts(self):
        words = {None: "not measured", 9.9: "REFUTED", 10: "as expected", 20: "as expected", 20.1: "REFUTED"}
        for value, word in words.items():
            self.assertEqual(self.verdict(value), word)
        for value, word in ((4.9, "REFUTED"), (5, "not as expected"), (10, "as expected"), (999, "not as expected")):
            self.assertEqual(self.verdict(value, holds=[5, None]), word)
        self.assertEqual(self.verdict(15, holds=[None, 12]), "REFUTED")  # what it says, within what was expected
        self.assertEqual(self.verdict("failed", **{"is": "passed"}), "REFUTED")
        self.assertEqual(self.verdict("passed", **{"is": "passed"}), "as expected")

    def test_a_value_is_found_by_its_path(self):
        data = {"rows": [{"algorithm": "ring", "ms": 1}, {"algorithm": "mpi", "ms": 2}]}
        self.assertEqual(expected.find(data, ["rows", {"algorithm": "mpi"}, "ms"]), 2)
        for path in (["rows", {"algorithm": "tree"}, "ms"], ["lines", {"a": 1}, "ms"], ["rows", "ms"], ["a", "b"]):
            self.assertIsNone(expected.find(data, path))
        self.assertIsNone(expected.find(None, ["rows"]))

    def judged(self, device="NVIDIA H100 80GB HBM3", rehearsal=False, status="passed"):
        speed = {"contestants": {"rueda": {"images_per_second": 40_000.0}}}
        results = [{"name": "resnet18@32, batch 128, bf16", "status": status, "data": speed},
                   {"name": "doctor", "status": status}]  # fmt: skip
        return {row["step"]: row for row in expected.judged(None, device, rehearsal, results)}

    def test_measured_and_expected_stand_beside_each_other(self):
        rows = self.judged(status="failed")
        self.assertEqual(rows["doctor"]["verdict"], "REFUTED")
        self.assertEqual(rows["levers"]["verdict"], "not measured")
        text = report.expected_table(list(rows.values()))
        self.assertIn("| 51,000 to 65,500 images/s | 40,000 | REFUTED |", text)
        self.assertIn("| passed, odds 0.8 | failed | REFUTED |", text)
        self.assertEqual(self.judged(status="not run")["doctor"]["verdict"], "not measured")

    def test_another_gpu_and_a_rehearsal_judge_nothing(self):
        name = "resnet18@32, batch 128, bf16"
        self.assertEqual(self.judged(device="NVIDIA H200")[name]["verdict"], "expected of an H100")
        self.assertEqual(self.judged(rehearsal=True)[name]["verdict"], "a rehearsal")


class Minutes(unittest.TestCase):
    def test_the_steps_that_a_call_is_for_fit_into_its_minutes(self):
        for number, call in calls.CALLS.items():
            seconds, groups = 0, {}
            for item in call.steps:
                self.assertGreater(item.limit, item.needs, item)
                groups[item.group or item.name] = max(item.limit, groups.get(item.group, 0))
            seconds = sum(groups.values())
            self.assertLessEqual(seconds, 60 * (call.minutes - gpu_check.PACK_MINUTES * call.keeps), number)
            self.assertLess(call.minutes, {"1": 5, "2": 10, "3": 9, "4": 9, "5": 8}[number])

    def test_a_goal_comes_first(self):
        names = [item.name for item in calls.CALLS["2"].steps if item.part == "bench"]
        self.assertEqual(names[1], "resnet18@32, batch 128, bf16")

    def test_all_calls_as_one_have_each_step_once(self):
        every = [(item.part, item.name) for item in calls.every_call().steps]
        self.assertEqual(len(every), len(set(every)))
        self.assertEqual(every.count(("smoke", "smoke")), 1)


class Limits(unittest.TestCase):
    """Commands are ended at the limit of their step, and what a step starts beside itself at its end."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rueda-limits-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.tools = Tools(programs={"rueda": "/bin/true"}, mpirun="/bin/true", logs=self.folder)

    def run_items(self, *items):
        found = []
        run_items(items, monotonic() + 60, self.tools, str(self.folder), lambda new: found.append(new[-1]))
        return found

    def test_a_step_that_hangs_costs_its_limit_and_no_other_step(self):
        def hangs(shell, _):
            shell.run(["sleep", "600"])

        found = self.run_items(Item("tests", "doctor", 1, hangs, needs=0), Item("tests", "next", 9, lambda *_: {}))
        self.assertEqual([one["status"] for one in found], ["failed", "passed"])
        self.assertEqual(found[0]["why"], "no end after 1 s: sleep")

    def mps(self, text):
        daemon = self.folder / "nvidia-cuda-mps-control"
        daemon.write_text("#!/bin/sh\n" + text, encoding="utf-8")
        daemon.chmod(0o755)
        self.tools.mps_control = str(daemon)
        return self.run_items(Item("ring", "under MPS", 30, ring_part.sweep_under_mps, (2,)))[0]

    def test_a_daemon_that_does_not_start_is_named(self):
        found = self.mps("echo no permission; exit 1\n")
        self.assertEqual((found["status"], found["why"]), ("not run", "MPS does not start: no permission"))
        self.tools.mps_control = None
        found = self.run_items(Item("ring", "under MPS", 30, ring_part.sweep_under_mps, (2,)))
        self.assertEqual(found[0]["why"], "no nvidia-cuda-mps-control")

    def test_the_daemon_ends_with_its_step(self):
        """Also when the step fails, and a daemon that does not quit is killed."""
        note = self.folder / "pid"
        started = f'echo $$ >{note}\ntouch "$CUDA_MPS_PIPE_DIRECTORY/control"\nexec sleep 600\n'
        found = self.mps('[ "$1" = -f ] || exit\n' + started)
        self.assertEqual(found["status"], "failed", found)  # /bin/true writes no figures
        process = Path("/proc", note.read_text(encoding="utf-8").strip(), "cmdline")
        self.assertFalse(process.exists() and process.read_bytes())


class Watch(unittest.TestCase):
    def test_minimum_median_and_maximum_since_the_last_look(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "gpu.csv")
            watch = gpu_watch.GpuWatch("nvidia-smi", file)
            self.assertIn("not recorded", watch.take())
            lines = ("1980, 2619, 300.5, 50", "1500, 2619, 700.1, 60", "[N/A], 1, 2, 3", "1755, 2619, 650, 61", "1")
            file.write_text("\n".join(lines), encoding="utf-8")
            self.assertEqual(watch.take()["SM clock, MHz"], [1500, 1755, 1980])
            self.assertIn("not recorded", watch.take())  # a line that is not complete is left for later
            with file.open("a", encoding="utf-8") as more:
                more.write("410, 2619, 90, 40\n")
            seen = watch.take()
        self.assertEqual(seen["power, W"], [90, 90, 90])
        rows = report.watch_table([{"name": "goal", "gpu": seen}, {"name": "after", "gpu": {"not recorded": "gone"}}])
        self.assertIn("| goal | 1410, 1410, 1410 |", rows)
        self.assertIn("| after | not recorded |", rows)

    def test_without_nvidia_smi_it_says_so(self):
        for program, why in ((None, "no nvidia-smi"), ("/nowhere/nvidia-smi", "No such file")):
            with tempfile.TemporaryDirectory() as folder:
                watch = gpu_watch.GpuWatch(program, Path(folder, "gpu.csv"))
                watch.start()
                seen = watch.take()
                watch.end()
            self.assertIn(why, seen["not recorded"])
            said = report.watch_table([{"name": "a", "gpu": seen}])
            self.assertIn(f"Clocks and power: not recorded: {seen['not recorded']}", said)


class Torch:
    """Stands for PyTorch: notes in what order it is asked for what. A step takes `device` ms, queueing it `host`."""

    def __init__(self, device, host, fails=()):
        self.said, self.now, self.device, self.host, self.steps, self.fails = [], 0.0, device, host, 0, fails
        self.module = mock.MagicMock()
        self.module.compile = self.compile
        self.module.autocast = lambda *_, **words: self.context(f"autocast {words}")
        cuda = self.module.cuda
        cuda.graph = lambda _: self.context("record")
        cuda.stream = lambda _: self.context("aside")
        cuda.CUDAGraph.return_value.replay = self.take_step
        cuda.Event.side_effect = lambda **_: self.event()
        cuda.max_memory_allocated.return_value = 9
        self.module.optim.SGD.return_value.step = self.take_step
        self.module.randn.return_value.to.return_value.nbytes = 1

    def context(self, what):
        self.said.append(what)
        return mock.MagicMock()

    def take_step(self):
        self.steps += 1
        self.now += self.host / 1e3

    def compile(self, function, mode):
        self.said.append(f"compile {function.__name__} {mode}")
        if mode in self.fails:
            raise RuntimeError("no Triton\nat all")
        return function

    def event(self):
        event = mock.MagicMock()
        event.record = lambda: setattr(event, "steps", self.steps)
        event.elapsed_time = lambda end: self.device * (end.steps - event.steps)
        return event


class Opponent(unittest.TestCase):
    def reports(self, torch, *variants, precision="bf16"):
        networks = types.SimpleNamespace(build=lambda name: mock.MagicMock())
        modules = {"torch": torch.module, "torch.nn": torch.module.nn, "torch_networks": networks}
        said = []
        with mock.patch.dict(sys.modules, modules), mock.patch("builtins.print", lambda text, **_: said.append(text)):
            worker = importlib.reload(importlib.import_module("torch_gpu_worker"))
            clock = mock.patch.object(worker, "perf_counter", lambda: torch.now)
            with clock, mock.patch.object(worker.json, "dumps", dict):
                task = '{"model": "m", "side": 8, "batch": 100, "precision": "%s", "variants": ["%s"]}'
                with mock.patch.object(sys, "argv", ["worker", task % (precision, '","'.join(variants))]):
                    worker.main()
        return {one["variant"]: one for one in said}

    def test_settings(self):
        torch = Torch(20, 10)
        self.reports(torch, "eager-graph")
        cudnn = torch.module.backends.cudnn
        self.assertEqual((cudnn.benchmark, cudnn.benchmark_limit, cudnn.allow_tf32), (True, 0, True))
        self.assertIn("'cache_enabled': False", torch.said[0])
        self.assertTrue(torch.module.optim.SGD.call_args[1]["fused"])
        torch = Torch(20, 10)
        self.reports(torch, "eager", precision="tf32")
        self.assertIn("'enabled': False", torch.said[0])

    def test_a_whole_step_is_recorded_after_steps_aside(self):
        torch = Torch(20, 10)
        found = self.reports(torch, "compile-graph")["compile-graph"]
        order = [what.split(" {")[0] for what in torch.said]
        self.assertEqual(order[0], "compile loss_of default")
        self.assertEqual(order[1:3], ["autocast", "aside"])  # the first step, then those that warm up
        self.assertEqual(order[3:], ["autocast"] * 11 + ["record", "autocast"])  # later steps replay
        self.assertEqual(len(found["step_milliseconds"]), 7)
        self.assertEqual(found["images_per_second"], 5_000)
        self.assertGreater(torch.steps, 7 * 50)  # blocks of a second

    def test_modes(self):
        torch = Torch(20, 10)
        self.reports(torch, "eager", "eager-graph", "reduce-overhead", "autotune-graph")
        modes = [what.split()[-1] for what in torch.said if what.startswith("compile")]
        self.assertEqual(modes, ["reduce-overhead", "max-autotune-no-cudagraphs"])
        self.assertEqual(torch.said.count("record"), 2)

    def test_where_the_host_is_the_limit_it_says_so(self):
        for device, host, bound in ((40, 35, False), (40, 37, True), (40, 40, True)):
            found = self.reports(Torch(device, host), "eager")["eager"]
            self.assertAlmostEqual(found["host_milliseconds"], host)
            self.assertEqual(found["host_bound"], bound)

    def test_a_variant_that_fails_leaves_the_others(self):
        found = self.reports(Torch(20, 10, fails=("default",)), "compile-graph", "eager-graph")
        self.assertEqual(found["compile-graph"]["failure"], "no Triton")
        self.assertEqual(found["eager-graph"]["images_per_second"], 5_000)

    def test_levers(self):
        torch, said = Torch(1, 1), []
        with mock.patch.dict(sys.modules, {"torch": torch.module, "torch.nn": torch.module.nn}):
            importlib.reload(importlib.import_module("torch_gpu_worker"))
            levers = importlib.reload(importlib.import_module("torch_levers"))
            times = mock.patch.object(levers, "between_events", lambda work: 300)
            with times, mock.patch("builtins.print", said.append):
                levers.main()
        found = levers.json.loads(said[0])
        self.assertEqual(found["node_us"], 1.5)
        self.assertEqual([row["channels"] for row in found["rows"]], [64, 128, 256, 512])
        self.assertEqual((found["rows"][0]["one_stream"], found["rows"][0]["forward_cold"]), (15, 300))
        self.assertEqual(found["rows"][0]["saved"], 0)


if __name__ == "__main__":
    main(0)
