#!/usr/bin/env python3
"""Gradients in buckets and on a thread of their own, the trace, and the watchdog.

usage: overlap_test.py RUEDA MPIEXEC cpu|cuda [CASE...]
"""

import sys
import unittest

from rueda_runs import ProgramCase, hashes, long, main

BACKEND = "cuda" if "cuda" in sys.argv else "cpu"
# Batches of 8, the last step of an epoch has 6 images.
SMALL = ["--model", "resnet20", "--data", "data", "--image-size", "8", "--data-limit", "22", "--epochs", "2"]
SMALL += ["--global-batch", "8", "--threads", "1", "--eval-every", "0"]
BUCKETS = ["--bucket-mb", "0.2"]


class OverlapTest(ProgramCase):
    time_limit = 600

    def start(self, ranks, *more, small=SMALL):
        backend = ["--backend", BACKEND] + ["--allow-shared-gpu"] * (BACKEND == "cuda")
        return super().start(ranks, *small, *backend, *more)

    def check_same_bits(self, ranks, *more):
        with self.subTest(ranks=ranks, options=more):
            on, off = (self.known_run(ranks, *BUCKETS, "--overlap", word, *more) for word in ("on", "off"))
            self.assertEqual(hashes(on), hashes(off))
            self.assertGreater(len(off["all_reduce"]["bucket_bytes"]), 4)
            self.assertEqual(off["all_reduce"]["overlaps_backward"], False)
            self.assertEqual(on["all_reduce"]["overlaps_backward"], True)

    def test_overlap_changes_no_bit(self):
        # In bf16 a GPU converts the weight gradients of a bucket before it announces that.
        self.check_same_bits(2, *["--precision", "bf16"] * (BACKEND == "cuda"))
        self.check_same_bits(3, "--check-replicas", "step")

    @long
    def test_nor_with_micro_batches_or_empty_shards(self):
        self.check_same_bits(2, "--accumulate", "2")
        self.check_same_bits(3, "--data-limit", "9")  # one image in the last step

    @long
    def test_the_fixed_order_does_not_see_buckets(self):
        fixed = ["--reduce-order", "fixed"]
        whole = self.trained(3, *fixed, "--bucket-mb", "0", "--overlap", "off")
        self.assertEqual(len(whole["all_reduce"]["bucket_bytes"]), 1)
        for size, overlap in (("0.000001", "on"), ("0.2", "on"), ("0.2", "off")):
            cut = self.trained(3, *fixed, "--bucket-mb", size, "--overlap", overlap)
            self.assertEqual(hashes(cut), hashes(whole))

    def test_one_rank_has_nothing_to_overlap(self):
        self.assertEqual(self.trained(1, "--overlap", "on")["all_reduce"]["overlaps_backward"], False)

    def test_the_ring_is_the_default_and_named(self):
        record = self.trained(3)
        text = " ".join(record["said"].split())
        transport = "host memory" if BACKEND == "cpu" else "memory"
        for part in ("all-reduce ring, ", transport, ", 3 chunks a bucket in segments of "):
            self.assertIn(part, text)
        self.assertEqual(record["config"]["all-reduce"], "ring")

    @unittest.skipIf(BACKEND == "cuda", "on GPUs auto takes the ring")
    def test_auto_says_what_it_takes_and_why(self):
        text = " ".join(self.trained(2, "--all-reduce", "auto")["said"].split())
        self.assertIn("auto (shared), host memory, by the rule for one host with shared memory", text)

    @long
    def test_a_resumed_run_keeps_its_all_reduce(self):
        """Also that of a checkpoint from before the ring was the default: it says auto."""
        for algorithm in ("auto", "doubling"):
            words = ("--all-reduce", algorithm, "--checkpoint-every", "1epoch", "--epochs", "1")
            folder = self.trained(2, *words)["config"]["run-dir"]
            words = ("--resume", folder, "--epochs", "2")
            self.completed(self.program.run_ranks(2, "train", *words))
            self.assertEqual(self.program.record(folder)["config"]["all-reduce"], algorithm)

    @long
    def test_buckets_that_are_measured_and_given_again(self):
        at = SMALL.index("--global-batch") + 1
        large = [*SMALL[:at], "30", *SMALL[at + 1 :]]  # more images than there are
        for ranks, small in ((1, SMALL), (2, SMALL), (3, large)):
            auto = self.trained(ranks, "--overlap", "on", "--bucket-mb", "auto", small=small)
            taken = auto["all_reduce"]["bucket_mb"]
            self.assertEqual(auto["config"]["bucket-mb"], "auto")
            if ranks == 1:
                self.assertEqual(taken, 25)
            again = self.trained(ranks, "--overlap", "off", "--bucket-mb", str(taken), small=small)
            self.assertEqual(hashes(again), hashes(auto))
            for name in ("bucket_mb", "bucket_bytes"):
                self.assertEqual(again["all_reduce"][name], auto["all_reduce"][name])
        self.assertIn(f"(auto took --bucket-mb {taken:g})", " ".join(auto["said"].split()))

    @long
    def test_a_resumed_run_keeps_its_buckets(self):
        words = ("--overlap", "on", "--checkpoint-every", "1epoch", "--lr-schedule", "constant")
        for first, again in (("0.3", ("--bucket-mb", "auto")), ("auto", ())):
            record = self.trained(2, *words, "--bucket-mb", first, "--epochs", "1")
            folder, taken = record["config"]["run-dir"], record["all_reduce"]["bucket_mb"]
            result = self.completed(self.program.run_ranks(2, "train", "--resume", folder, *again, "--epochs", "2"))
            self.assertNotIn("--bucket-mb is", result.out + result.err)
            record = self.program.record(folder)
            self.assertEqual((record["all_reduce"]["bucket_mb"], record["config"]["bucket-mb"]), (taken, taken))
            whole = self.trained(2, *words, "--bucket-mb", str(taken), "--epochs", "2")
            self.assertEqual(hashes(record), hashes(whole))

    def test_times_of_each_bucket(self):
        record = self.known_run(2, *BUCKETS, "--overlap", "on")
        communication = record["epochs"][1]["communication"]
        buckets = communication["buckets"]
        sizes = [bucket["bytes"] for bucket in buckets]
        self.assertEqual(sizes, record["all_reduce"]["bucket_bytes"])
        self.assertEqual(sum(sizes), record["all_reduce"]["gradient_bytes"])
        for bucket in buckets:
            self.assertEqual(bucket["busy"]["count"], 2 * 3)  # ranks and steps
            parts = sum(bucket[part]["mean"] for part in ("wait", "transfer", "add"))
            self.assertLessEqual(parts, bucket["busy"]["mean"] * (1 + 1e-9))
        whole = sum(communication[part]["mean"] for part in ("wait", "transfer", "add"))
        self.assertAlmostEqual(whole, communication["busy"]["mean"])
        calls = sum(bucket["busy"]["mean"] for bucket in buckets)
        self.assertAlmostEqual(calls, communication["busy"]["mean"], places=9)

    def check_passes(self, record, micro_batches):
        """Every layer once in each direction, with its own work."""
        profile, images = record["profile"], record["batch"]["micro_batch"]
        self.assertEqual((profile["micro_batch"], profile["micro_batches"]), (images, micro_batches))
        made = {word: [] for word in ("forward", "recompute", "backward")}
        for one in profile["passes"]:
            made[one["pass"]].append(one["layer"])
            self.assertGreaterEqual(one["seconds"], 0)
            self.assertEqual(one["roof_seconds"] is None, BACKEND == "cuda")  # a stand-in has no roof
        forward = made["forward"]
        self.assertEqual(forward[::-1], made["backward"])
        # 19 convolutions and batch norms, 9 additions, 2 shortcuts, pooling, classifier. cuda fuses additions.
        self.assertEqual(len(forward), len(set(forward)))
        self.assertEqual(len(forward), 19 + 19 + 9 * (BACKEND == "cpu") + 2 + 2)
        self.assertEqual(bool(made["recompute"]), record["config"]["recompute"] != "none")
        self.assertLess(set(made["recompute"]), set(forward))
        flops = {(one["layer"], one["pass"]): one["flops"] for one in profile["passes"]}
        first, strided = 2 * images * 8 * 8 * 16 * 27, 2 * images * 4 * 4 * 32 * 16 * 9
        for layer, forward, backward in (("conv1", first, first), ("layer2.0.conv1", strided, 2 * strided)):
            self.assertEqual([flops[layer, word] for word in ("forward", "backward")], [forward, backward])
        self.assertIn("Layers, rank 0 (", record["said"])

    @long
    def test_the_clock_of_layers_changes_no_bit(self):
        many = ("--accumulate", "2", "--recompute", "block", "--input", "stream", "--overlap", "on")
        # Step 2 of the epoch is timed, and of step 3 (6 images) the micro-batches that are as large as in step 2.
        for ranks, words, micro_batches in ((1, (), 1), (2, many, 4)):
            timed = self.trained(ranks, *BUCKETS, *words, "--profile-layers")
            plain = self.known_run(ranks, *BUCKETS, *words)
            self.assertEqual(hashes(timed), hashes(plain))
            self.assertNotIn("profile", plain)
            self.check_passes(timed, micro_batches)

    def spans_of(self, trace, rank, step, row):
        """Spans of one row of one rank's step, in the order of time, without parts of messages."""
        chosen = [
            event
            for event in trace["traceEvents"]
            if event["ph"] == "X"
            and event["name"] != "transfer"
            and (event["pid"], event["args"]["step"], event["cat"]) == (rank + 1, step, row)
        ]
        return sorted(chosen, key=lambda event: event["ts"])

    def test_the_trace_shows_steps_and_rings_of_all_ranks(self):
        ring = ["--all-reduce", "ring", "--overlap", "on"]
        self.trained(3, *BUCKETS, *ring, "--trace", "trace.json", "--trace-steps", "4")
        trace = self.read("trace.json")
        steps = {e["args"]["step"] for e in trace["traceEvents"] if e["ph"] == "X"}
        self.assertEqual(steps, {1, 2, 3, 4})
        self.assertLess(trace["otherData"]["clock_error_us"], 1e6)
        for rank in range(3):
            phases = self.spans_of(trace, rank, 4, "training")
            names = [event["name"] for event in phases]
            self.assertLess(names.index("forward"), names.index("backward"))
            # Before forward a device may still be at the update of the step before.
            self.assertGreater(names[::-1].index("backward"), names[::-1].index("optimizer"))
            for before, after in zip(phases, phases[1:]):
                self.assertLess(before["ts"] + before["dur"], after["ts"] + 1)  # microseconds
            acts = self.spans_of(trace, rank, 4, "all-reduce")
            first = [event for event in acts if event["args"]["bucket"] == 0]
            self.assertIn("add", [event["name"] for event in first])
            first = [event for event in first if event["name"] != "add"]
            self.assertEqual(
                [(event["name"], event["args"]["ring_step"]) for event in first],
                [(phase, step) for phase in ("reduce-scatter", "all-gather") for step in (0, 1)],
            )
            self.assertEqual(first[0]["args"]["to_rank"], (rank + 1) % 3)
            self.assertEqual(first[0]["args"]["from_rank"], (rank + 2) % 3)

    def bound(self, events):
        """[(span that an arrow leaves, span where it ends)], as Perfetto binds them: events by time, of the same time
        by their place in the file; an end belongs to the innermost span of its row."""
        open_spans, begun, arrows = {}, {}, []
        for event in sorted((one for one in events if one["ph"] != "M"), key=lambda one: one["ts"]):
            row = open_spans.setdefault((event["pid"], event["tid"]), [])
            while row and row[-1]["ts"] + row[-1]["dur"] < event["ts"]:
                row.pop()
            if event["ph"] == "X":
                row.append(event)
            elif event["ph"] == "s":
                self.assertNotIn(event["id"], begun)
                begun[event["id"]] = row[-1]
            else:
                self.assertEqual((event["ph"], event["bp"], event["id"] in begun), ("f", "e", True), event)
                arrows.append((begun[event["id"]], row[-1]))
        self.assertEqual(len(begun), len(arrows))
        return arrows

    def test_arrows_of_the_trace_lead_from_each_message_to_its_receiver(self):
        for name in ("ring", "doubling", "halving"):
            with self.subTest(name):
                self.trained(4, *BUCKETS, "--all-reduce", name, "--trace", "trace.json", "--trace-steps", "2")
                trace = self.read("trace.json")
                events = trace["traceEvents"]
                spans = [one for one in events if one["ph"] == "X" and one["name"] != "transfer"]
                sent = sorted((one["pid"], one["args"]["to_rank"] + 1, one["ts"])
                              for one in spans if "to_rank" in one["args"])  # fmt: skip
                arrows = self.bound(events)
                self.assertEqual(sorted((a["pid"], b["pid"], a["ts"]) for a, b in arrows), sent)
                for begin, end in arrows:
                    self.assertEqual(begin["args"]["to_rank"], end["pid"] - 1)
                    self.assertEqual(end["args"]["from_rank"], begin["pid"] - 1)
                    for key in ("step", "bucket", "ring_step"):
                        self.assertEqual(begin["args"][key], end["args"][key])
                    self.assertLessEqual(begin["ts"], end["ts"])  # else Perfetto turns the arrow round

    def test_a_stopped_rank_is_named_by_those_who_wait(self):
        """In the ring, also where a thread of its own waits, and in shared memory."""
        for way in (["--all-reduce", "ring", "--overlap", "off"], ["--all-reduce", "ring", "--overlap", "on"],
                    ["--all-reduce", "shared"]):  # fmt: skip
            with self.subTest(way=way):
                result = self.start(3, "--stall-seconds", "3", "RUEDA_INJECT=hang:1:4", *way)
                self.assertNotEqual(result.code, 0, result)
                stuck = ("rueda: the ring is stuck. rank ", "rueda: stuck outside the ring. rank ")
                self.assertTrue(all(message.startswith(stuck) for message in result.messages), result)
                (named,) = (m for m in result.messages if "rank 2 on " in m and "receives from rank 1" in m)
                self.assertIn("step 4, bucket ", named)
                waits = self.read(f"{result.run_dir}/status.json")["waits_for"]
                self.assertRegex(waits, r"rank 0 has been in the sum for \d s: step 4, bucket ")
                self.assertFalse(any("rank 1 on " in message for message in result.messages), result)


if __name__ == "__main__":
    main(3)
