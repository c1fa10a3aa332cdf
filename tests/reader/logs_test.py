"""Logs of Keras, published runs, and the text that launchers write around them."""

import contextlib
import math
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
from reader.base.estimate import Estimate  # noqa: E402
from reader.handin.keras_line import narrowed, printed_duration  # noqa: E402
from reader.handin.keras_log import KerasLog, parse_keras_log_option, read_keras_log, read_logged_runs  # noqa: E402
from reader.handin.logged_run import images_of_epoch  # noqa: E402
from reader.handin.published import published  # noqa: E402
from reader.handin.text_input import decoded_text, launcher_prefix  # noqa: E402
from reader.start import Unusable  # noqa: E402
from reader.study.observation import Processor, is_single_run  # noqa: E402
from reader.study.series import epoch_speedup, make_series  # noqa: E402

# The output of a job as the book prints it, shortened.
BOOK_JOB = """Number of Nodes Allocated: 1 (as01r1b01)
| NVIDIA-SMI 530.30.02   Driver Version: 530.30.02   CUDA Version: 12.1 |
| N/A   39C    P0   120W / 700W |      2MiB / 65247MiB |      0%      Default |
 Model ResNet50 1 GPUs\x20
-----------------------
Batch_size: 2048
Num_replicas: 1\x20

Epoch 1/2
25/25 - 29s - loss: 2.2484 - accuracy: 0.1629 - 29s/epoch - 1s/step
Epoch 2/2
25/25 - 14s - loss: 2.1255 - accuracy: 0.2195 - 14s/epoch - 544ms/step
 Model ResNet50 4 GPUs\x20
-----------------------
Batch_size: 8192
Num_replicas: 4\x20

Epoch 1/2
7/7 - 47s - loss: 2.2741 - accuracy: 0.1514 - 47s/epoch - 7s/step
Epoch 2/2
7/7 - 5s - loss: 2.1481 - accuracy: 0.2160 - 5s/epoch - 768ms/step"""


class LogCase(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))

    def log(self, text, **given):
        file = self.folder / "run.out"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return KerasLog(str(file), **given)

    def runs(self, text):
        return read_logged_runs(self.log(text))

    def run_of(self, text):
        """The only run of a text."""
        [run] = self.runs(text)
        return run

    def refusal(self, text):
        with self.assertRaises(Unusable) as caught:
            self.runs(text)
        return str(caught.exception)

    def check(self, seen, value, low, high):
        for part, wanted in (("value", value), ("low", low), ("high", high)):
            self.assertAlmostEqual(getattr(seen, part), wanted, delta=1e-9 * max(abs(wanted), 1e-3), msg=part)


class Runs(LogCase):
    def test_the_runs_in_the_output_of_a_job_are_separated(self):
        one, four = self.runs(BOOK_JOB)
        self.assertEqual((one.model, one.processor, one.global_batch, one.ranks), ("ResNet50", Processor.gpu, 2048, 1))
        self.assertEqual((four.global_batch, four.ranks), (8192, 4))
        first, second = one.epochs
        self.assertEqual((second.number, second.steps), (2, 25))
        self.check(second.printed, 14, 13.5, 14.5)
        self.check(second.seconds, 13.6, 13.5875, 13.6125)  # 25 x 543.5, 544, 544.5 ms
        self.check(first.seconds, 29, 28.5, 29.5)  # 25 x 0.5 ... 1.5 s say less

    def test_the_books_efficiency_from_its_steps_and_from_its_whole_seconds(self):
        seen = read_keras_log(self.log(BOOK_JOB))
        [series] = make_series(seen)
        self.assertEqual((series.scaling.name, series.batch), ("weak", 2048))
        one, four = series.points
        # 25 x 544 / (7 x 768) / 4 = 63.24 %, at 5.3725 ... 5.3795 s and 13.5875 ... 13.6125 s
        self.check(epoch_speedup(series, four).efficiency, 13.6 / 5.376 / 4, 13.5875 / 5.3795 / 4, 13.6125 / 5.3725 / 4)
        # 14 / 5 / 4 = 70 %, from 13.5 / 5.5 / 4 = 61.4 % to 14.5 / 4.5 / 4 = 80.6 %
        self.check(one.printed_epoch / four.printed_epoch * 0.25, 0.70, 13.5 / 22, 14.5 / 18)
        self.check(one.first_epoch, 29, 28.5, 29.5)
        # A partial last step leaves a full one in bounds.
        last = seen[-1]
        self.assertEqual((last.images, last.steps), (50000, 7))  # 6 x 8192 + 848
        self.check(last.mean_step, 0.768, 0.7675, 0.7685)
        self.check(last.full_step, 5.376 * 8192 / 50000, 5.3725 / 7, 5.3795 / 6)  # 0.881 s

    def test_without_a_partial_step_a_full_one_is_the_mean(self):
        text = "Epoch 1/1\n10/10 - 20s - loss: 1.0 - 20s/epoch - 2s/step\n"
        [seen] = read_keras_log(self.log(text, global_batch=100, images=1000))
        self.check(seen.full_step, 2, 1.95, 2.05)
        self.assertTrue(seen.includes_warm_up)
        [seen] = read_keras_log(self.log(text, global_batch=100, images=1050))  # the remainder is left out
        self.assertEqual(seen.images, 1000)
        with self.assertRaisesRegex(Unusable, "10 steps of 100.*batch="):
            read_keras_log(self.log(text, global_batch=100, images=1100))

    def test_where_a_run_begins_and_ends(self):
        first, second = self.runs("Batch_size: 512\nEpoch 1/2\n98/98 - 9s - loss: 1\nEpoch 2/2\n98/98 - 8s - loss: 1\n"
                                  "Epoch 1/2\n98/98 - 7s - loss: 1\n")
        self.assertEqual((len(first.epochs), second.global_batch, second.epochs[0].printed.value), (2, 512, 7))
        # Runs of one epoch each
        self.assertEqual(len(self.runs("Epoch 1/1\n98/98 - 9s - loss: 1\n" * 3)), 3)
        # Lines without marks, other steps
        first, second = self.runs("25/25 - 29s - loss: 1\n25/25 - 14s - loss: 1\n13/13 - 8s - loss: 1")
        self.assertEqual((first.epochs[1].number, second.epochs[0].number), (2, 1))
        # Words that begin like a mark are none.
        self.assertEqual(len(self.run_of("Epoch 1/2nd try\n25/25 - 29s - x: 1\n25/25 - 14s - x: 1\n").epochs), 2)

    def test_a_log_that_begins_in_the_middle(self):
        [seen] = read_keras_log(self.log("Epoch 3/5\n25/25 - 14s - loss: 1\nEpoch 4/5\n25/25 - 16s - loss: 1\n"))
        self.assertFalse(seen.first_epoch.known)
        self.check(seen.epoch, 15, 14.5, 15.5)

    def test_lines_that_look_like_a_header(self):
        run = self.run_of('Model: "resnet50v2"\nEpoch 1/2\n25/25 - 29s - loss: 1\nModel saved to best.h5\n'
                          "Epoch 00001: val_loss improved\nModel ResNet50GPU\nEpoch 2/2\n25/25 - 14s - loss: 1\n")
        self.assertEqual((run.model, len(run.epochs), run.processor), ("resnet50v2", 2, Processor.cpu))

    def test_lost_line_ends_carriage_returns_unknown_bytes(self):
        run = self.run_of(b"Epoch 1/2\r\n196/196 - 41s - loss: 2.0176 - accuracy: 0.2584Epoch 2/2\r\n"
                          b"\xff\xfe\x80 noise \r\n196/196 - 43s - loss: nan - accuracy: 0.3648")
        self.assertEqual([epoch.printed.value for epoch in run.epochs], [41, 43])
        self.assertEqual(len(self.run_of("x" * 100_000 + "\n5/5 - 1s - loss: 1").epochs), 1)

    def test_given_values_win_over_the_log(self):
        seen = read_keras_log(self.log(BOOK_JOB, model="resnet50v2", processor=Processor.cpu, image_size=128))[1]
        self.assertEqual((seen.model, seen.processor, seen.image_size), ("resnet50v2", Processor.cpu, 128))
        self.assertRegex(seen.source, "^log .*run.out$")


class Lines(LogCase):
    def test_the_lines_of_all_versions_of_keras(self):
        for line, seconds in (
                ("196/196 - 41s - loss: 2.01 - accuracy: 0.25", (41, 40.5, 41.5)),
                ("25/25 - 14s - 544ms/step - accuracy: 0.21 - loss: 2.12", (13.6, 13.5875, 13.6125)),
                ("25/25 - 14s - 3s - loss: 2.12", (14, 13.5, 14.5)),  # the first time is that of the epoch
                # The time per step of a bar leaves out the first one: 24 x 543.5 ms = 13.044 s is less than 13.5 s; 25
                # x 544 ms is as good a guess as any.
                ("25/25 [==========] - 14s 544ms/step - loss: 2.1 - acc: 0.5   ", (13.6, 13.5, 14.5)),
                # 24 x 570.5 ms = 13.692 s is more than 13.5 s.
                ("25/25 [====] - 14s 571ms/step - loss: 2", (14.275, 13.692, 14.5)),
                ("1000/1000 [==] - 1s 700us/step - loss: 2", (0.7, 0.6995 * 0.999, 1.5)),
                ("Epoch 1/2 - 40/40 - 8.715 s - 0.218 s/step - loss: 2.7243 - accuracy: 0.1654 - 574 images/s (287 "
                 "per rank) - "
                 "val_loss: 2.8 - val_accuracy: 0.09\n", (8.715, 8.7145, 8.7155))):  # rueda's own
            with self.subTest(line=line):
                [epoch] = self.run_of(line).epochs
                self.check(epoch.seconds, *seconds)
                self.assertEqual(epoch.validates, "val_" in line)
        # Samples are counted.
        run = self.run_of("Batch_size: 128\n50000/50000 [==] - 14s 280us/sample - loss: 1.5")
        self.assertEqual((run.epochs[0].steps, run.images), (391, 50000))
        self.check(run.epochs[0].seconds, 14, 13.975, 14.025)

    def test_a_bar_that_was_drawn_over_and_over(self):
        run = self.run_of(
            "Epoch 1/2\n 1/25 [>....] - ETA: 5:12 - loss: 2.4\b\b\b\b\r25/25 [====] - ETA: 0s - loss: "
            "2.3\b\b\b\r25/25 [====] "
            "- 29s 1s/step - loss: 2.2\nEpoch 2/2\n\x1b[1m25/25\x1b[0m "
            "\x1b[32m\u2501\u2501\x1b[0m\x1b[37m\u2501\x1b[0m "
            "\x1b[1m0s\x1b[0m 544ms/step - loss: 2.0\n\x1b[1m25/25\x1b[0m \x1b[32m\u2501\u2501\u2501\x1b[0m "
            "\x1b[1m14s\x1b[0m "
            "544ms/step - loss: 1.9 - val_loss: 1.8 - val_accuracy: 0.4\n25/25 [====] - 3s 120ms/step - loss: 9.9\n")
        # Neither the line before the end nor the evaluation after counts.
        self.check(run.epochs[0].printed, 29, 28.5, 29.5)
        self.check(run.epochs[1].printed, 14, 13.5, 14.5)
        self.assertEqual((len(run.epochs), run.variant), (2, "times with validation"))

    def test_printed_durations_have_the_range_of_their_rounding(self):
        for text, wanted in (("14s", (14, 13.5, 14.5)), ("544ms", (0.544, 0.5435, 0.5445)),
                             ("73us", (73e-6, 72.5e-6, 73.5e-6)),
                             ("8.715 s", (8.715, 8.7145, 8.7155)), ("0s", (0, 0, 0.5))):
            self.check(printed_duration(text), *wanted)
        for text in ("", "s", "14", "14m", "1.2.3s", "-3s", "14s ", "1e3s", "99999999999s"):
            self.assertIsNone(printed_duration(text), text)

    def test_two_ranges_are_narrowed(self):
        seconds = Estimate(5, 4.5, 5.5)
        self.check(narrowed(Estimate(14, 13.5, 14.5), Estimate(13.6, 13.5875, 13.6125)), 13.6, 13.5875, 13.6125)
        self.check(narrowed(seconds, Estimate(5.6, 5.3, 5.9)), 5.5, 5.3, 5.5)
        self.check(narrowed(seconds, Estimate(4.45, 4.4, 4.51)), 4.5, 4.5, 4.51)
        self.check(narrowed(seconds, Estimate(7, 6, 8)), 5, 4.5, 5.5)

    def test_images_of_an_epoch_by_its_steps(self):
        self.assertEqual(images_of_epoch(50000, 6, 8192), 6 * 8192)  # the remainder left out
        self.assertEqual(images_of_epoch(40960, 5, 8192), 40960)
        for steps in (5, 8):
            self.assertTrue(math.isnan(images_of_epoch(50000, steps, 8192)))
        for steps, batch in ((7, 8192), (0, 8192), (7, 0)):  # 6 x 8192 + 848, and what is unknown
            self.assertEqual(images_of_epoch(50000, steps, batch), 50000)


class Launchers(LogCase):
    LINES = ["Epoch 1/2", "5/5 - 60s - loss: 2.9 - 60s/epoch - 12s/step", "Epoch 2/2",
             "5/5 - 6s - loss: 2.1 - 6s/epoch - 1s/step"]

    def test_the_log_of_rank_0_is_read_out_of_what_all_ranks_printed(self):
        for prefixes in (("[1,0]<stdout>:", "[1,1]<stdout>:"), ("0: ", "1: "), ("[default0]:", "[default1]:"),
                         ("2026-11-26 02:39:28,1 ",),
                         ("\x1b[36m(TrainWorker pid=1234)\x1b[0m ", "\x1b[36m(TrainWorker pid=1235)\x1b[0m ")):
            with self.subTest(prefix=prefixes[0]):
                run = self.run_of("".join(f"{prefix}{line}\r\n" for line in self.LINES for prefix in prefixes))
                self.assertEqual([epoch.printed.value for epoch in run.epochs], [60, 6])

    def test_text_in_two_bytes_a_letter_as_powershell_redirects_it(self):
        text = "\n".join(self.LINES)
        for content in (b"\xff\xfe" + text.encode("utf-16-le"), b"\xfe\xff" + text.encode("utf-16-be"),
                        text.encode("utf-16-le"),
                        text.encode("utf-32-be"), b"\xef\xbb\xbf" + text.encode()):
            self.assertEqual(len(self.run_of(content).epochs), 2)
            self.assertEqual(decoded_text(content), text)

    def test_prefixes(self):
        for line, rest, rank, worker in (
                ("[1,3]<stderr>: x", "x", 3, ""), ("[prterun-a@1,0]<stdout>:x", "x", 0, ""),
                ("<stdout>: x", "x", None, ""),
                (" 4: x", "x", 4, ""), ("[5] x", "x", 5, ""), ("[rank6]:x", "x", 6, ""), ("rank 7: x", "x", 7, ""),
                ("[mpiexec@host] x", "x", None, ""), ("[proxy:0:0@host] x", "x", None, ""),
                ("2026-11-26T02:39:28.1Z stdout F x", "x", None, ""), ("[02:39:28] 1: x", "x", 1, ""),
                ("Thu Nov 26 02:39:28 2026: x", "x", None, ""), ("Nov  6 02:39:28 node7 python3[12]: x", "x", None, ""),
                ("(Worker pid=7, ip=10.0.0.1) x", "x", None, "Worker pid=7, ip=10.0.0.1"),
                ("worker-0  | x", "x", None, "worker-0"), ("INFO:root:x", "x", None, ""),
                ("25/25 - 14s", "25/25 - 14s", None, ""), ("[==] x", "[==] x", None, ""),
                ("loss: 1", "loss: 1", None, "")):
            with self.subTest(line=line):
                found = launcher_prefix(line)
                self.assertEqual((line[found.length:], found.rank, found.worker), (rest, rank, worker))

    def test_a_line_whose_end_was_lost_before_the_mark_of_another_rank(self):
        text = ("[1,0]<stdout>:Epoch 1/1[1,1]<stdout>:Epoch 1/1\n"
                "[1,1]<stdout>:5/5 - 9s - loss: 1[1,0]<stdout>:5/5 - 8s - loss: 1\n")
        self.assertEqual(self.run_of(text).epochs[0].printed.value, 8)

    def test_lines_across_the_pieces_in_which_a_file_is_read(self):
        noise = "n" * 1000 + "\n"
        text = noise * 1048 + "x" * 500 + "\n" + "5/5 - 9s - loss: 1\n"
        for shift in range(30):  # the end of the first piece lies in each place of the line
            self.assertEqual(self.run_of("." * shift + text).epochs[0].printed.value, 9)


TABLE = """epoch,seconds,images_per_second,loss,accuracy,ranks,global_batch
1,2.5,38.4,2.3,0.1,1,32
2,2.000000,48.0,2.2,0.2,1,32
3,2.100000,45.714286,2.1,0.3,1,32
1,1.400000,68.571429,2.3,0.1,2,64
2,1.250000,76.8,2.2,0.2,2,64
"""


class Tables(LogCase):
    """A CSV of epochs of another trainer, such as jobs/torch_ddp.py."""

    def test_runs_are_those_of_each_number_of_ranks(self):
        runs = self.runs(TABLE)
        self.assertEqual([(run.ranks, run.global_batch, run.images, [epoch.steps for epoch in run.epochs])
                          for run in runs],
                         [(1, 32, 96, [3, 3, 3]), (2, 64, 96, [2, 2])])
        self.assertEqual(runs[0].epochs[0].seconds, Estimate(2.5, 2.45, 2.55))
        (series,) = make_series(read_keras_log(self.log(TABLE, model="resnet20")))
        self.assertTrue(all(map(is_single_run, series.points)))  # no rounding gives them a range
        repeated = read_keras_log(self.log(TABLE + TABLE.partition("\n")[2].replace("1.250000,76.8", "1.5,64")))
        self.assertEqual([is_single_run(point) for point in make_series(repeated)[0].points], [False, False])
        self.assertEqual([point.ranks for point in series.points], [1, 2])
        self.assertAlmostEqual(epoch_speedup(series, series.points[1], "epoch").speedup.value, 2.05 / 1.25)

    def test_an_epochs_csv_of_rueda_is_such_a_table(self):
        names = "epoch,ranks,steps,samples,loss,accuracy,val_loss,seconds,images_per_second"
        (run,) = self.runs(f"{names}\r\n1,2,3,90,2.3,0.1,,9.25,9.7\r\n2,2,3,90,,,,9.125,9.8\r\n")
        self.assertEqual((run.ranks, run.images, run.epochs[1].steps, run.epochs[1].seconds.value), (2, 90, 3, 9.125))

    def test_columns_in_any_order_and_only_two_of_them(self):
        (run,) = self.runs("\ufeff Seconds , epoch\n4,1\n3,2\n")
        self.assertEqual([epoch.seconds.value for epoch in run.epochs], [4, 3])
        self.assertEqual([run.ranks for run in self.runs("epoch,seconds\n1,4\n2,3\n2,3\n1,2\n")], [1, 1, 1])
        changed = self.runs("epoch,seconds,ranks\n1,4,1\n2,3,2\n3,3,2\n")
        self.assertEqual([(run.ranks, len(run.epochs)) for run in changed], [(1, 1), (2, 2)])
        (given,) = read_logged_runs(self.log("epoch,seconds\n1,4\n", ranks=4, global_batch=100, model="m"))
        self.assertEqual((given.ranks, given.global_batch, given.images, given.epochs[0].steps), (4, 100, 50_000, 500))

    def test_what_is_no_such_table_is_refused(self):
        for text, wanted in (
            ("epoch,seconds\n", "it has no epoch; give a CSV with a line of columns, such as epoch,seconds"),
            ("epoch,seconds\n1,2\n2,-1\n", "line 3: seconds is no number such as 12.345"),
            ("epoch,seconds\n1,nan\n", "line 2: seconds is no number"), ("epoch,seconds\n1,1e9\n", "line 2: seconds"),
            ("epoch,seconds\n1,0\n", "line 2: epoch and seconds are not numbers above 0"),
            ("epoch,seconds\n,1\n", "line 2: epoch and seconds"), ("epoch,seconds\n0,1\n", "line 2: epoch and seconds"),
            ("epoch,seconds\n1.5,1\n", "line 2: epoch is no whole number"),
            ("epoch,seconds,ranks\n1,1,x\n", "line 2: ranks is no whole number"),
            ("epoch,seconds\n1,2\n2\n", "line 3: it has another number of cells"),
            ("epoch,seconds\n1,2,3\n", "line 2: it has another number of cells"),
            ("epoch,seconds\n" + "1,2\n" * 100_001, "it has more than 100,000 epochs"),
            ("epoch,seconds\n" + '1,"' + "2" * 200_000, "line 2: it is no table"),
        ):
            with self.subTest(text=text[:40]), self.assertRaises(Unusable) as caught:
                self.runs(text)
            self.assertIn(wanted, str(caught.exception))


class Refusals(LogCase):
    def test_the_refusal_quotes_the_line_that_came_nearest(self):
        self.assertIn('the nearest is "25/25 - loss: 2.1\\x07 - accuracy: 0.1"',
                      self.refusal("start\nEpoch 1/3\n\x1b[0m25/25 - loss: 2.1\x07 - accuracy: 0.1\nend\n"))
        self.assertIn('of rank 0; the nearest is "1: 5/5 - 6s', self.refusal("1: 5/5 - 6s - loss: 2.1 - 1s/step\n"))
        long = self.refusal("loss " + "x" * 1000)
        self.assertIn('"loss xxx', long)
        self.assertIn('xxx..."', long)
        self.assertNotIn("x" * 61, long)

    def test_a_log_without_a_finished_epoch(self):
        for text in ("", "hello\n", "12/25 [==>..] - ETA: 7s - loss: 1\n", "25/25 - loss: 2\n", "0/0 - 1s - x: 1",
                     "25/25\n",
                     "25/24 - 14s - loss: 1\n", "| 2/2MiB 14s |", "25/25 [==#=] - 14s 5ms/step",
                     "5/5 - 544ms/step - 14s"):
            with self.subTest(text=text):
                self.assertRegex(self.refusal(text), "run.out: .*no line.*verbose=1")

    def test_more_epochs_than_are_taken(self):
        self.assertIn("more than 100,000 epochs", self.refusal("1/1 - 0s\n" * 100_001))
        self.assertEqual(len(self.run_of("1/1 - 0s\n" * 100_000).epochs), 100_000)

    def test_what_is_no_log(self):
        large = self.folder / "large"
        large.write_bytes(b"x")
        os.truncate(large, 1_000_000_001)  # a hole: takes no room
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for file, why in ((self.folder, "is a directory"), (self.folder / "none", "not there"),
                          (pipe, "no.* regular file"),
                          (large, "1000000001 bytes, more than the 1000000000")):
            with self.assertRaisesRegex(Unusable, why):
                read_keras_log(KerasLog(str(file)))

    def test_the_words_of_the_option(self):
        self.assertEqual(parse_keras_log_option(
            "a,b.out,model=resnet50v2,ranks=4,batch=8192,images=40000,size=128,processor=cpu"),
            KerasLog("a,b.out", "resnet50v2", 4, 8192, 128, 40000, Processor.cpu))
        self.assertEqual(parse_keras_log_option("run.out").file, "run.out")
        for text in ("", ",model=x", "f,model=", "f,ranks=0", "f,ranks=2x", "f,batch=-1", "f,processor=tpu",
                     "f,model=x,colour=red",
                     "f,model=x,ranks", "f,ranks=²", "f,ranks=1" + "0" * 30):
            with self.subTest(text=text), self.assertRaises(Unusable):
                parse_keras_log_option(text)


class Published(LogCase):
    """Their figures: layouts_test.py."""

    def test_one_published_run(self):
        book = published("book")
        [older] = [seen for seen in book if seen.source == "Torres 2021, CTE-POWER" and seen.variant == "sequential"]
        self.check(older.epoch, 41, 40.5, 41.5)
        self.assertEqual((older.first_epoch.value, older.includes_warm_up, older.global_batch, older.ranks),
                         (41, False, 256, 1))
        with self.assertRaisesRegex(Unusable, '"books".*book, nyu'):
            published("books")
        self.assertEqual(len(published("all")), len(book) + len(published("nyu")))

    def test_the_homeworks(self):
        seen = published("nyu")
        self.assertEqual(len(seen), 15)
        self.assertEqual([series.scaling.name for series in make_series(seen)].count("strong"), 5)
        for one in seen:
            self.assertEqual((one.image_size, one.model, one.first_epoch.known), (32, "resnet18", False))
            self.assertAlmostEqual(one.epoch.high - one.epoch.low, 0.01)
            self.assertEqual(one.steps, math.ceil(50000 / one.global_batch))


if __name__ == "__main__":
    unittest.main()
