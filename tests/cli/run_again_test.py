#!/usr/bin/env python3
"""jobs/run-again.sh with commands that only pretend to train.

usage: run_again_test.py
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

from rueda_runs import main

SCRIPT = Path(__file__).resolve().parents[2] / "jobs" / "run-again.sh"
LIMIT = 20  # seconds
# The command has ended before the script goes on.
ON_A_BUSY_HOST = """import child_process
start = child_process.start
def started(*words, **options):
    job = start(*words, **options)
    job.wait()
    return job
child_process.start = started
"""
OVERSUBSCRIBE = "OMPI_MCA_rmaps_base_oversubscribe"


class RunAgainCase(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rueda-again-")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def start(self, script, *options, words=(), ignored=(), probe="sh ./probe", change="", **limits):
        """Runs a shell script in place of mpirun; each start is a line of `starts`. Limits: those of the script, by
        name. Change: Python that runs before it."""
        (self.folder / "launch").write_text('echo "$@" >> starts\n' + script, encoding="utf-8")
        command = [SCRIPT]
        for name, value in limits.items():
            change += f"{'run_again_hosts' if name.startswith('PROBE') else 'run_again'}.{name} = {value}\n"
        if change:
            command = [sys.executable, "-c",
                       f"import sys, run_again, run_again_hosts\n{change}\nsys.exit(run_again.main())"]
        command += [*options, "--", "sh", "./launch", *words, "--run-dir", "run", "--checkpoint-every", "1step"]
        env = {**os.environ, "PYTHONPATH": str(SCRIPT.parent), "PYTHONDONTWRITEBYTECODE": "1"}
        if probe:
            env["RUEDA_PROBE"] = probe

        def prepare():
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)

        return subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=env, preexec_fn=prepare)  # fmt: skip

    def ended(self, job):
        """Exit code, standard error, and the starts."""
        try:
            _, err = job.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            job.kill()
            raise
        return job.returncode, err, self.starts()

    def starts(self):
        path = self.folder / "starts"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def wait_for(self, name):
        self.wait_until(name, (self.folder / name).exists)

    def wait_until(self, what, done):
        deadline = time.monotonic() + LIMIT
        while not done():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.01)

    def wait_for_number(self, name):
        """Until a process has written its number into a file, whole."""
        path = self.folder / name
        self.wait_until(name, lambda: path.exists() and path.read_text(encoding="utf-8").endswith("\n"))

    def wait_for_end(self, name):
        """Of the process whose number is in a file."""
        path = self.folder / name
        self.wait_for_number(name)
        stat = Path("/proc", path.read_text(encoding="utf-8").strip(), "stat")
        self.wait_until(f"{name} has ended", lambda: not stat.exists() or ") Z " in stat.read_text(encoding="utf-8"))


class Prepares(RunAgainCase):
    shown = OVERSUBSCRIBE

    def variable(self, *options, **env):
        """What a launcher finds, of which nothing is set before."""
        words = ["sh", "-c", f'echo "${{{self.shown}:-unset}}"', "sh", *options]
        words += ["--run-dir", "run", "--checkpoint-every", "1step"]
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PRTE_", "SLURM_"))}
        done = subprocess.run([*self.command, *words], cwd=self.folder, env={**clean, **env}, capture_output=True,
                              text=True, check=True)  # fmt: skip
        return done.stdout.strip()

    def test_a_launcher_may_start_more_ranks_than_cores(self):
        for self.command in ([SCRIPT, "--"], [SCRIPT.parent / "env.sh"]):
            self.assertEqual(self.variable(), "1")
            self.assertEqual(self.variable(OMPI_MCA_rmaps_base_oversubscribe="0"), "0")

    def test_in_a_job_the_site_decides(self):
        self.command = [SCRIPT, "--"]
        self.assertEqual(self.variable(SLURM_JOB_ID="1"), "unset")
        self.assertEqual(self.variable(SLURM_JOB_ID="1", SLURM_STEP_ID="4294967290"), "unset")  # salloc's shell

    def test_a_shell_that_is_a_step_shares_its_cores(self):
        self.command = [SCRIPT, "--"]
        self.shown = "SLURM_OVERLAP"
        step = {"SLURM_JOB_ID": "1", "SLURM_STEP_ID": "0"}
        self.assertEqual(self.variable(**step), "1")
        self.assertEqual(self.variable(SLURM_JOB_ID="1"), "unset")
        self.assertEqual(self.variable(**{**step, "SLURM_STEP_ID": "4294967290"}), "unset")
        self.shown = OVERSUBSCRIBE
        self.assertEqual(self.variable(**step), "1")


    def test_open_mpi_kills_the_ranks_that_a_dead_one_leaves_at_once(self):
        self.command = [SCRIPT, "--"]
        self.shown = "OMPI_MCA_odls_base_sigkill_timeout"
        self.assertEqual(self.variable(), "0")
        self.assertEqual(self.variable(SLURM_JOB_ID="1"), "0")
        self.assertEqual(self.variable(OMPI_MCA_odls_base_sigkill_timeout="3"), "3")

    def test_open_mpi_misses_a_host_within_the_limit_of_the_ranks(self):
        """After `probes` questions without an answer, `intvl` apart, the first after `time`."""
        self.command = [SCRIPT, "--"]
        for limit in (1, 5, 19, 25, 120, 99999):
            found = []
            for self.shown in (f"OMPI_MCA_oob_tcp_keepalive_{name}" for name in ("time", "intvl", "probes")):
                found.append(int(self.variable("--stall-seconds", str(limit))))
            idle, interval, probes = found
            self.assertEqual(idle, interval)
            self.assertTrue(0.8 * limit - 1 <= interval * probes <= limit, (limit, found))
            self.assertLessEqual(interval * (1 + probes), max(limit, 2), found)
        self.shown = "PRTE_MCA_oob_tcp_keepalive_probes"
        self.assertEqual(self.variable("--stall-seconds=10"), "9")
        for words in ([], ["--stall-seconds", "0"], ["--stall-seconds", "1e3"]):
            self.assertEqual(self.variable(*words), "unset")
        self.assertEqual(self.variable("--stall-seconds", "10", PRTE_MCA_oob_tcp_keepalive_probes="4"), "4")


class Stops(RunAgainCase):
    def test_a_signal_ends_it_whatever_the_launcher_returns(self):
        """mpirun returns 1 on SIGTERM, which is what it also returns when a rank fails."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP):
            with self.subTest(signal=number):
                for name in ("starts", "ready"):
                    (self.folder / name).unlink(missing_ok=True)
                job = self.start("trap 'exit 1' TERM INT USR1; touch ready; while :; do sleep 0.05; done")
                self.wait_for("ready")
                job.send_signal(number)
                code, _, starts = self.ended(job)
                self.assertEqual((code, len(starts)), (128 + number, 1))

    def test_a_signal_in_a_pause_ends_it(self):
        job = self.start('[ "$(wc -l < starts)" -lt 4 ] || touch third; exit 1')  # the next pause takes 4 s
        self.wait_for("third")
        job.send_signal(signal.SIGTERM)
        code, _, starts = self.ended(job)
        self.assertEqual((code, len(starts)), (128 + signal.SIGTERM, 4))

    def test_a_run_that_saved_its_state_ends_with_its_own_code(self):
        job = self.start("trap 'exit 75' USR1; touch ready; while :; do sleep 0.05; done")
        self.wait_for("ready")
        job.send_signal(signal.SIGUSR1)
        self.assertEqual(self.ended(job)[0], 75)

    def test_ranks_of_open_mpi_are_asked_to_save(self):
        """Its mpirun kills them on SIGTERM. Other launchers, and one without ranks, get SIGTERM."""
        for variable, code in (("OMPI_COMM_WORLD_RANK", 75), ("PMI_RANK", 9), ("NO_RANK", 9)):
            for number in (signal.SIGTERM, signal.SIGHUP):
                with self.subTest(variable=variable, signal=number):
                    (self.folder / "ready").unlink(missing_ok=True)
                    job = self.start(f"trap 'kill $!; exit 75' USR1; trap 'kill $!; exit 9' TERM\n{variable}=0 sh -c "
                                     "'touch ready; exec sleep 600' & wait")
                    self.wait_for("ready")
                    job.send_signal(number)
                    self.assertEqual(self.ended(job)[0], 75 if code == 75 else 128 + number)

    def test_a_login_that_is_lost_does_not_matter_to_nohup(self):
        job = self.start("touch ready; while [ ! -e done ]; do sleep 0.05; done", ignored=[signal.SIGHUP])
        self.wait_for("ready")
        job.send_signal(signal.SIGHUP)
        (self.folder / "done").touch()
        self.assertEqual(self.ended(job)[::2], (0, self.starts()))

    def test_a_launcher_that_does_not_listen_is_killed(self):
        job = self.start("trap '' TERM; echo $$ > pid; touch ready; while :; do sleep 0.05; done",
                         STOPPING=0.2, KILL=0.2)
        self.wait_for("ready")
        job.send_signal(signal.SIGTERM)
        code, err, starts = self.ended(job)
        self.assertEqual((code, len(starts)), (128 + signal.SIGTERM, 1))
        self.assertIn("did not end within 0.2 s of SIGTERM: it is killed", err)
        self.wait_for_end("pid")

    def test_killed_it_leaves_no_launcher(self):
        job = self.start("echo $$ > pid; touch ready; while :; do sleep 0.05; done")
        self.wait_for("ready")
        job.kill()
        job.communicate(timeout=LIMIT)
        self.wait_for_end("pid")

    def test_a_probe_that_hangs_ends_with_it(self):
        (self.folder / "probe").write_text("echo $$ > pid; exec sleep 600\n", encoding="utf-8")
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGKILL):
            with self.subTest(signal=number):
                for name in ("starts", "pid"):
                    (self.folder / name).unlink(missing_ok=True)
                job = self.start("exit 1", words=["--host", "a"])
                self.wait_for_number("pid")
                job.send_signal(number)
                code, err, starts = self.ended(job)
                self.assertEqual((code, len(starts)), (-9 if number == signal.SIGKILL else 128 + number, 1), err)
                self.wait_for_end("pid")


class Ends(RunAgainCase):
    def test_codes_that_a_restart_does_not_cure(self):
        for code in (0, 2, 75):
            (self.folder / "starts").unlink(missing_ok=True)
            found, _, starts = self.ended(self.start(f"exit {code}"))
            self.assertEqual((found, len(starts)), (code, 1))

    def test_it_gives_up(self):
        for option in (["--most", "2"], ["--most=2"], ["--most", "02"]):
            (self.folder / "starts").unlink(missing_ok=True)
            code, err, starts = self.ended(self.start("exit 3", *option))
            self.assertEqual((code, len(starts)), (3, 2))
            self.assertIn("2 failures in a row without a new checkpoint, the last with exit code 3", err)

    def test_a_new_checkpoint_counts_also_where_one_was_passed_over(self):
        made = 'mkdir -p "run/checkpoints/passed-over-epoch-0009" "run/checkpoints/epoch-000$(wc -l < starts)"; '
        code, err, starts = self.ended(self.start(made + '[ "$(wc -l < starts)" -lt 5 ] && exit 1; exit 0',
                                                  "--most", "2"))
        self.assertEqual((code, len(starts)), (0, 5), err)
        self.assertIn("again from epoch-0001 in 0 s", err)

    def test_a_launcher_that_outlives_its_ranks_is_ended(self):
        """As mpirun does when a link is cut: its rank here has ended, its ssh and itself have not."""
        stays = '[ "$(wc -l < starts)" = 1 ] || exit 0; sleep 1000 & OMPI_COMM_WORLD_RANK=0 sh -c "sleep 1"; wait'
        code, err, starts = self.ended(self.start(stays, ALONE=1))
        self.assertEqual((code, len(starts)), (0, 2), err)
        self.assertIn("its launcher waits for a host that is gone", err)

    def test_a_launcher_that_says_0_although_the_run_goes_on(self):
        """As Open MPI 5's does when it loses a host."""
        def status(outcome):
            text = f'{{"outcome": "{outcome}", "step": \'$(wc -l < starts)\'}}'
            return f"mkdir -p run; echo '{text}' > run/status.json; "

        second = '[ "$(wc -l < starts)" = 1 ] || '
        for first, last, starts in ((status("running"), status("completed"), 2), (status("running"), "", 2),
                                    (status("completed"), "", 1), ("", "", 1)):  # fmt: skip
            with self.subTest(first=first, last=last):
                (self.folder / "starts").unlink(missing_ok=True)
                code, err, found = self.ended(self.start(f"{second}{{ {last}exit 0; }}\n{first}exit 0"))
                self.assertEqual((code, len(found)), (0, starts), err)
                self.assertEqual("the run is not over" in err, starts == 2)
        (self.folder / "starts").unlink()
        script = f"{second}{{ {status('completed')}exit 0; }}\n{status('running')}exit 0"
        code, err, found = self.ended(self.start(script, change=ON_A_BUSY_HOST))
        self.assertEqual((code, len(found)), (0, 2), err)
        (self.folder / "run" / "status.json").write_text("[" * 100_000, encoding="utf-8")
        self.assertEqual(self.ended(self.start("exit 0"))[0], 0)


class Hosts(RunAgainCase):
    def launched(self, words, answers, lost="exit 1", **limits):
        """The words of the second start."""
        (self.folder / "probe").write_text(f'case $1 in {answers}) exit 0;; esac; {lost}\n', encoding="utf-8")
        (self.folder / "starts").unlink(missing_ok=True)
        code, err, starts = self.ended(self.start('[ "$(wc -l < starts)" = 2 ]', words=words, **limits))
        self.assertEqual((code, len(starts)), (0, 2), err)
        return starts[1]

    def test_hostfiles_as_open_mpi_reads_them(self):
        (self.folder / "hosts").write_text("a slots=08 max_slots=8 # eight\n\nb max_slots=4\nc slots=2\n",
                                           encoding="utf-8")
        for option in (["--hostfile", "hosts"], ["--hostfile=hosts"]):
            left = self.launched([*option, "-n", "11"], "a|b")
            self.assertTrue(left.startswith("--host a:8,b:1 -n 9 "), left)

    def test_lists_of_hosts(self):
        self.assertTrue(self.launched(["--host", "a:02,b", "-np", "3"], "a").startswith("--host a:2 -np 2 "))

    def test_a_host_that_accepts_a_connection_and_hangs_is_left_out(self):
        left = self.launched(["--host", "a,b,c", "-n", "3"], "b", "exec sleep 600", PROBE_LIMIT=1)
        self.assertTrue(left.startswith("--host b:1 -n 1 "), left)

    def test_parts_of_ranks_that_are_gone_become_speeds(self):
        def balance(*words, answers="a"):
            return self.launched(["--host", "a:2,b", "-n", "3", *words], answers).partition(" --run-dir")[0]

        for words in (["--balance", "3,1,1"], ["--balance=3,1,1"]):
            self.assertEqual(balance(*words),
                             f"--host a:2 -n 2 {words[0].replace('=3,1,1', '=speed')}" + " speed" * (len(words) - 1))
        self.assertEqual(balance("--balance", "speed"), "--host a:2 -n 2 --balance speed")
        self.assertEqual(balance("--balance", "3,1"), "--host a:2 -n 2 --balance 3,1")
        self.assertEqual(balance("--balance", "3,1,1", answers="a|b"), "--host a:2,b -n 3 --balance 3,1,1")
        (self.folder / "run").mkdir()
        (self.folder / "run" / "run.json").write_text(json.dumps({"config": {"balance": "3,1,1"}}), encoding="utf-8")
        self.assertIn(" --resume auto --balance speed", self.launched(["--host", "a:2,b", "-n", "3"], "a"))

    def test_hostfiles_that_nothing_reads(self):
        path = self.folder / "hosts"
        os.mkfifo(path)
        for content, wanted in (
            (None, "it is no regular file"), (b"\xef\xbb\xbfa\n", "begins with a byte-order mark"),
            (b"[::1] slots=2\n", "line 1 of hosts has the IPv6 address '[::1]'"),
            (b"fe80::1\n", "IPv6 address 'fe80::1'"),
        ):  # fmt: skip
            with self.subTest(wanted=wanted):
                if content:
                    path.unlink()
                    path.write_bytes(content)
                code, err, starts = self.ended(self.start("exit 1", words=["--hostfile", "hosts"]))
                self.assertEqual((code, starts, err.count("\n")), (2, [], 1), err)
                self.assertIn(wanted, err)
        code, err, _ = self.ended(self.start("exit 1", words=["--host", "a,[::1]:2"]))
        self.assertEqual((code, "--host has the IPv6 address '[::1]:2'" in err), (2, True), err)

    def test_nothing_in_a_file_is_run_or_taken_for_an_option(self):
        for line in ("a slots=x[$(touch ran)0]", "a slots=$(touch ran)", "-oProxyCommand=touch${IFS}ran slots=1",
                     "a slots=0", "a slots=99999999999999999999"):  # fmt: skip
            with self.subTest(line=line):
                (self.folder / "hosts").write_text(line + "\n", encoding="utf-8")
                code, err, starts = self.ended(self.start("exit 1", words=["--hostfile", "hosts"]))
                self.assertEqual((code, starts), (2, []), err)
                self.assertIn("line 1 of hosts", err)
                self.assertFalse((self.folder / "ran").exists())


class InAJob(RunAgainCase):
    """With --requeue, under a Slurm that only pretends."""

    def setUp(self):
        super().setUp()
        (self.folder / "bin").mkdir()
        self.add("scontrol",
                 'case "$1 $2" in "show hostnames") echo n1; echo n2;; "show job") echo "   ExcNodeList=n9";;'
                 ' *) echo "$@" >> told;; esac')  # fmt: skip
        self.add("srun", 'case $* in *--nodelist\\ $(cat lost 2>/dev/null || echo none)\\ *) exit 1;; esac')
        job = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]",
               "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        patch = unittest.mock.patch.dict(os.environ, job)
        patch.start()
        self.addCleanup(patch.stop)

    def add(self, name, script):
        (self.folder / "bin" / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (self.folder / "bin" / name).chmod(0o755)

    def run_job(self, script, then=lambda job: None, options=("--requeue",)):
        """Exit code, number of starts, and what scontrol was told."""
        for name in ("told", "starts", "ready"):
            (self.folder / name).unlink(missing_ok=True)
        job = self.start(script, *options, probe=None)
        then(job)
        code, self.errors, starts = self.ended(job)
        told = self.folder / "told"
        return code, len(starts), told.read_text(encoding="utf-8").splitlines() if told.exists() else []

    def warn(self, number):
        def then(job):
            self.wait_for("ready")
            job.send_signal(number)

        return then

    def test_a_killed_rank_is_started_again_where_it_is(self):
        self.assertEqual(self.run_job('[ "$(wc -l < starts)" = 3 ] || exit 137'), (0, 3, []))

    def test_a_saved_state_goes_back_into_the_queue(self):
        self.assertEqual(self.run_job("exit 75"), (75, 1, ["requeue 7"]))
        for code in (0, 2):
            self.assertEqual(self.run_job(f"exit {code}"), (code, 1, []))

    def test_an_element_of_an_array_goes_back_alone(self):
        element = {"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "2"}
        with unittest.mock.patch.dict(os.environ, element):
            self.assertEqual(self.run_job("exit 75"), (75, 1, ["requeue 7_2"]))

    def test_a_lost_node_is_left_out_besides_those_that_were(self):
        (self.folder / "lost").write_text("n2", encoding="utf-8")
        self.assertEqual(self.run_job("exit 1"), (75, 1, ["requeue 7", "update JobId=7 ExcNodeList=n2,n9"]))
        self.assertIn("n2 does not answer and is left out", self.errors)

    def test_a_busy_slurm_is_asked_again_to_leave_a_node_out(self):
        (self.folder / "lost").write_text("n2", encoding="utf-8")
        answers = 'case "$1 $2" in "show hostnames") echo n1; echo n2;; "show job") ;; *) echo "$@" >> told;; esac'
        self.add("scontrol", f'{answers}; [ "$1" != update ] || [ "$(grep -c update told)" = 2 ]')
        update = "update JobId=7 ExcNodeList=n2"
        self.assertEqual(self.run_job("exit 1"), (75, 1, ["requeue 7", update, update]))
        self.assertNotIn("refuses", self.errors)
        self.add("sleep", "")
        self.add("scontrol", f'{answers}; [ "$1" != update ] || {{ echo busy >&2; exit 1; }}')
        self.assertEqual(self.run_job("exit 1"), (75, 1, ["requeue 7", *[update] * 4]))
        self.assertIn("busy Slurm refuses to leave out n2", self.errors)

    def test_who_did_not_ask_for_the_queue_stays(self):
        (self.folder / "lost").write_text("n2", encoding="utf-8")
        self.assertEqual(self.run_job('[ "$(wc -l < starts)" = 2 ] || exit 1', options=()), (0, 2, []))
        self.assertEqual(self.run_job("exit 75", options=()), (75, 1, []))

    def test_where_no_node_answers_none_is_to_blame(self):
        self.add("srun", "exit 1")
        self.assertEqual(self.run_job('[ "$(wc -l < starts)" = 2 ] || exit 1'), (0, 2, []))

    def test_it_gives_up_as_elsewhere(self):
        code, starts, told = self.run_job("exit 1", options=["--most=2", "--requeue"])
        self.assertEqual((code, starts, told), (1, 2, []))

    def test_a_warning_that_the_run_does_not_take(self):
        hangs = "touch ready; while :; do sleep 0.05; done"
        for code in (138, 143, 1):
            told = self.run_job(f"trap 'exit {code}' USR1; {hangs}", self.warn(signal.SIGUSR1))
            self.assertEqual(told, (75, 1, ["requeue 7"]))
        for code in (0, 2):
            told = self.run_job(f"trap 'exit {code}' USR1; {hangs}", self.warn(signal.SIGUSR1))
            self.assertEqual(told[2], [])

    def test_a_cancelled_job_stays_cancelled(self):
        for code in (75, 143):
            told = self.run_job(f"trap 'exit {code}' TERM; touch ready; while :; do sleep 0.05; done",
                                self.warn(signal.SIGTERM))
            self.assertEqual((told[0], told[2]), (code, []))

    def test_a_slurm_that_refuses(self):
        self.add("scontrol", "echo no >&2; exit 1")
        self.assertEqual(self.run_job("exit 75"), (75, 1, []))
        self.assertIn("the job could not be put back into the queue: no", self.errors)
        (self.folder / "lost").write_text("n2", encoding="utf-8")
        self.add("scontrol", 'case "$1 $2" in "show hostnames") echo n1; echo n2;; *) exit 1;; esac')
        self.assertEqual(self.run_job('[ "$(wc -l < starts)" = 2 ] || exit 1'), (0, 2, []))

    def test_outside_of_a_job(self):
        os.environ.pop("SLURM_JOB_ID")
        self.assertEqual(self.run_job("exit 75"), (2, 0, []))


class Refusals(RunAgainCase):
    def refused(self, words, *parts):
        done = subprocess.run([SCRIPT, *words], cwd=self.folder, capture_output=True, text=True, timeout=LIMIT,
                              check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_bad_words(self):
        run = ["--", "true", "--run-dir=x", "--checkpoint-every=1step"]
        self.refused(["--most", "abc", *run], "--most", "'abc'")
        self.refused(["--most", "0", *run], "--most", "'0'")
        self.refused(["--most"], "--most")
        self.refused(["--moist", "3", *run], "--moist")
        self.refused([], "no command")
        self.refused(["--", "true"], "--run-dir")
        self.refused(["--", "./none", *run[2:]], "cannot be started")
        self.refused([*run, "--hostfile", "none"], "'none'")

    def test_values_behind_an_equals_sign(self):
        done = subprocess.run([SCRIPT, "--", "true", "--run-dir=x", "--checkpoint-every=1step", "--resume=auto"],
                              cwd=self.folder, capture_output=True, text=True, timeout=LIMIT, check=False)  # fmt: skip
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    main(0)
