#!/usr/bin/env python3
"""The five calls of jobs/gpu-check.sh rehearsed on the stand-in, on small networks: each in a folder that knows of the
others only what it is given; on different kinds of GPU, and where there is no network. What NVIDIA's tools and PyTorch
say is made up.

usage: gpu_rehearsal_test.py RUEDA_STANDIN DRIVER MPI_TESTS [CASE...]
"""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from rueda_runs import ProgramCase, environment, long, main

SCRIPT = Path(__file__).resolve().parents[2] / "jobs" / "gpu-check.sh"
RUEDA = """#!/bin/sh
case "$1$LD_LIBRARY_PATH" in
--version*/nvidia/cudnn/*) echo 'rueda 9.9'; echo 'cuDNN 9.99.0' ;;
*) exec {program} "$@" ;;
esac
"""
CUDA_TESTS = """#!/bin/sh
[ "$1" = '[properties]' ] && echo '{{"name": "GPU"}}' && exit
exec {program} "$@"
"""
METRICS = '"gpu__time_duration.sum","dram__bytes_read.sum","dram__bytes_write.sum"'
COUNTED = f"""==PROF== Connected
"ID","Kernel Name",{METRICS}
"","","ns","byte","byte"
"0","sm90_xmma_fprop_implicit_gemm","2,000","3,000,000","1000000"
"1","rueda::each_pack_of_columns<8, rueda::StatisticsSums<Bfloat16>>","9500","0","0"
"2","rueda::each_pack_of_columns<8, rueda::GradientSums<Bfloat16, 1>>","18000","0","0"
"3","rueda::each_pack<4, rueda::SgdUpdate>","80000","0","0"
"""
NCU = f"""#!/bin/sh
[ "$1 $3 $4 $5" = "--log-file --nvtx --nvtx-include step 1/" ] && cat >"$2" <<'END'
{COUNTED}END
while [ ! -x "$1" ]; do shift; done
exec "$@"
"""
RATES = '{"bf16_flops_per_second": 1e12, "tf32_flops_per_second": 5e11, "copy_bytes_per_second": 1e11}'
LEVERS = '{"node_us": 1.2, "rows": [{"channels": 256, "saved": 0.2}, {"channels": 512, "saved": 0.1}]}'
SPEED = '"images_per_second": 2, "peak_memory_bytes": 8, "host_milliseconds": 9, "host_bound": true'
TORCH = f"""#!/bin/sh
case "$*" in
*nvidia.cudnn*) echo "${{0%/*}}/nvidia/cudnn" ;;
*version*) echo 2.11 ;;
*probe*) echo '{RATES}' ;;
*torch_levers*) echo '{LEVERS}' ;;
*) mkdir -p "$TORCHINDUCTOR_CACHE_DIR" && echo network >>"$TORCHINDUCTOR_CACHE_DIR/compiled"
  for variant in eager eager-graph compile-graph; do echo "{{\\"variant\\": \\"$variant\\", "'{SPEED}}}'; done ;;
esac
"""
NVIDIA_SMI = """#!/bin/sh
case "$*" in
*loop-ms=200*) while true; do echo "1980, 2619, 312.5, 55"; sleep 0.2; done ;;
*) echo "$RUEDA_STANDIN_NAME" ;;
esac
"""
SANITIZER = """#!/bin/sh
while [ ! -x "$1" ]; do shift; done
"$@" && echo '========= ERROR SUMMARY: 0 errors'
"""
MPS = """#!/bin/sh
cd "$CUDA_MPS_PIPE_DIRECTORY" || exit 1
if [ "$1" = -f ]; then touch control; echo started >server.log; while [ -e control ]; do sleep 0.1; done; fi
read -r word && [ "$word" = quit ] && rm control && touch told
"""
PRETENDED = {"nvidia-smi": NVIDIA_SMI, "ncu": NCU, "python": TORCH, "compute-sanitizer": SANITIZER,
             "nvidia-cuda-mps-control": MPS}  # fmt: skip
H200, H100 = "NVIDIA H200", "NVIDIA H100 80GB HBM3"
ALONE = ("unshare", "-rn")  # in a network that has only lo, which is down; with the right to set it up
FORBIDDEN = (*ALONE, "unshare", "-r")  # and without it


class Rehearsal(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rueda-rehearsal-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        rueda, driver, mpi = (Path(path).resolve() for path in ProgramCase.paths)
        self.driver = str(driver)
        os.symlink(mpi, self.folder / "mpi")
        for name in ("backend", "parity"):
            os.symlink(rueda.with_name(f"{name}_standin"), self.folder / f"{name}_cuda")
        library = self.folder / "nvidia" / "cudnn" / "lib"
        library.mkdir(parents=True)
        (library / "libcudnn.so.9").touch()
        self.put("rueda", RUEDA.format(program=rueda))
        self.put("cuda", CUDA_TESTS.format(program=rueda.with_name("cuda_standin")))
        for name, text in PRETENDED.items():
            self.put(name, text)

    def put(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        (self.folder / name).chmod(0o755)

    def report(self, number, *words, gpu=H100, within=(), out=""):
        """Its folder, and what it wrote: of a call on one kind of GPU, in the namespaces that `within` makes."""
        out = self.folder / (out or number)
        options = ["--rehearsal", "--programs", self.folder, "--out", out, "--minutes", "20"]
        words = [*within, SCRIPT, number, *options, *words]
        pretended = {"RUEDA_TORCH_PYTHON": f"{self.folder}/python", "PATH": f"{self.folder}:{os.environ['PATH']}",
                     "RUEDA_STANDIN_DRIVER": self.driver, "RUEDA_STANDIN_NAME": gpu}  # fmt: skip
        done = subprocess.run(
            words, env=environment(pretended), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1300,
            check=False,
        )  # fmt: skip
        base = out / f"gpu-check-{number}"
        report = json.loads(base.with_suffix(".json").read_text(encoding="utf-8"))
        bad = [one for one in report["results"] if one["status"] == "failed"]
        self.assertEqual((done.returncode, bad), (0, []), done.stderr)
        self.assertIn("A rehearsal", base.with_suffix(".md").read_text(encoding="utf-8"))
        return out, report

    def call(self, number, *words, **where):
        """Its folder, and what it found by the names of its steps, which all passed. Each figure that was expected of
        the call was measured."""
        out, report = self.report(number, *words, **where)
        self.assertEqual(report["about"]["device"], H100)
        for one in report["results"]:
            self.assertEqual(one["status"], "passed", one)
        self.assertGreater(len(report["expected"]), 0)
        for figure in report["expected"]:
            self.assertEqual(figure["verdict"], "a rehearsal", figure)
        return out, {one["name"]: one for one in report["results"]}

    def in_namespaces(self, *within):
        """Skips where this machine does not allow them."""
        if subprocess.run([*within, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest(f"{' '.join(within)} is not allowed here")
        return within

    def check_right(self, within):
        out, found = self.call("1", within=within)
        self.assertIn("works", found["doctor"]["data"]["verdict"])
        self.assertGreater(found["parity_cuda tests"]["data"]["passed"], 0)
        self.assertIn("rueda train", (out / "logs" / "smoke.txt").read_text(encoding="utf-8"))

    def check_goals(self, within):
        out, found = self.call("2", within=within)
        bench = [one for one in found.values() if one["name"].startswith("resnet")]
        self.assertEqual(bench[0]["name"], "resnet18@32, batch 128, bf16")
        self.assertEqual([len(one["data"]["contestants"]["rueda"]["runs"]) for one in bench], [2] * 6 + [1] * 2)
        for one in bench:
            for what in ("images_per_second", "peak_memory_bytes", "share_of_floor"):
                self.assertGreater(one["data"]["contestants"]["rueda"][what], 0)
        self.assertEqual(bench[0]["gpu"]["power, W"], [312.5] * 3)
        self.assertEqual(len(tuning_files(out)), 1)
        return out

    def check_where(self, within, earlier):
        out, found = self.call("3", "--with", earlier / "gpu-check-carry.tar.xz", within=within)
        of = "resnet18@32, batch 128, bf16"
        kernels = found[f"kernels of {of}"]["data"]
        convolutions = {"launches": 1, "microseconds": 2, "MB": 4, "microseconds a launch": 2}
        self.assertEqual(kernels["kinds"]["convolutions"], convolutions)
        self.assertTrue(kernels["engines timed"])
        self.assertLess(kernels["plan"]["convolutions"], kernels["plan"]["all"])
        self.assertEqual(len(list(out.glob("kernels-*.csv"))), 2)
        for what in ("CUDA graphs", "early kernels"):
            self.assertEqual(set(found[f"{what} of {of}"]["data"]["images_per_second"]), {"on", "off"})
        self.assertEqual(len(tuning_files(out)), 2)  # one of each cuDNN
        layers = found[f"layers of {of}"]["data"]
        self.assertEqual(len(layers["worst"]), 12)
        self.assertGreater(layers["microseconds"], sum(layers["worst"].values()))
        self.assertEqual(len(list(out.glob("layers-*.json"))), 2)

    def check_opponent(self, within, earlier):
        out, found = self.call("4", "--with", earlier / "gpu-check-carry.tar.xz", within=within)
        self.assertEqual(*map(tuning_files, (earlier, out)))  # nothing was timed again
        compiled = (out / "carried" / "inductor" / "compiled").read_text(encoding="utf-8")
        self.assertEqual(compiled.count("network"), 3)
        first = found["resnet18@32, batch 128, bf16, beside PyTorch"]["data"]["contestants"]
        self.assertEqual(len(first["rueda"]["runs"]), 2)
        self.assertIn("failure", first["torch-autotune-graph"])
        self.assertGreater(first["torch-eager-graph"]["rueda_is_times_as_fast"], 0)
        self.assertIn("host-bound", (out / "gpu-check-4.md").read_text(encoding="utf-8"))

    def check_ranks(self, within):
        _, found = self.call("5", within=within)
        self.assertTrue(found["lengths on 2, under MPS"]["data"]["MPS served"])
        rows = [row["algorithm"] for row in found["all-reduce on 2, device"]["data"]["rows"]]
        self.assertEqual(rows, ["ring", "fixed"] * 2)
        self.assertEqual(len(found["lengths on 2"]["data"]["rows"]), 10)
        self.assertIn("ERROR SUMMARY: 0", found["memcheck of cuda"]["data"]["summary"])

    def check_calls(self, within=()):
        self.check_right(within)
        earlier = self.check_goals(within)
        self.check_where(within, earlier)
        self.check_opponent(within, earlier)
        self.check_ranks(within)

    @long
    def test_five_calls(self):
        self.check_calls()

    @long
    def test_a_network_that_is_down_is_set_up(self):
        _, report = self.report("5", "--only", "smoke,tests", within=self.in_namespaces(*ALONE))
        results = {one["name"]: one["status"] for one in report["results"]}
        self.assertEqual(results["train on 4"], "passed")

    def test_one_rank_needs_no_network(self):
        _, report = self.report("5", "--only", "smoke,tests", within=self.in_namespaces(*FORBIDDEN))
        results = {one["name"]: one for one in report["results"]}
        for name in ("smoke", "train on 1"):
            self.assertEqual(results[name]["status"], "passed", results[name])
        self.assertIn("mpirun needs the network interface lo", results["train on 2"]["why"])

    @long
    def test_calls_that_meet_different_gpus(self):
        """What was timed on one kind is kept and not used on the other, on which all is timed again."""
        words = ("--only", "smoke,bench")
        first, _ = self.report("2", *words, gpu=H200)
        (self.folder / "nvidia-smi").unlink()  # rueda knows the name as well
        kept = ("--with", first / "gpu-check-carry.tar.xz", "--resume", first / "gpu-check-2.json")
        second, report = self.report("2", *words, *kept, out="other")
        self.assertEqual(report["about"]["device"], H100)
        self.assertIn(f"timed on {H200} with cuDNN", report["about"]["carried"])
        self.assertIn(f"not used on this {H100}", report["about"]["carried"])
        self.assertIn(f"is of {H200}, and this is {H100}: all steps run again", report["about"]["resumed"])
        self.assertEqual(report["results"][0]["gpu"], {"not recorded": "no nvidia-smi"})
        before, after = map(tuning_files, (first, second))
        self.assertEqual({one["device"] for one in after.values()}, {H200, H100})
        self.assertEqual({name: after[name] for name in before}, before)
        timed = [set(one["seconds"]) for one in after.values()]
        self.assertEqual(*timed)


def tuning_files(out):
    """Each by its name."""
    return {file.name: json.loads(file.read_text(encoding="utf-8")) for file in (out / "carried" / "tuning").iterdir()}


if __name__ == "__main__":
    main(3)
