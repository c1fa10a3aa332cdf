"""Sends a Slurm job for each series, so that no GPU is idle, and one for the report after them."""

import getpass
import os

import child_process
from attempts import FINISHED, OPEN, Attempts
from checks import write_study
from claim import MARK, Claim, claim_study, make_directory
from common import Fault, counted, read_json, say, write_json
from launch import text_of
from presets import ROOT

JOBS = ROOT / "jobs" / "slurm"
ANSWER_SECONDS = 300  # of Slurm's controller, which may be busy


def submit(plan, options, machine, words):
    """Sends the jobs that are neither done nor in the queue."""
    options.threads = options.threads or int(os.environ["RUEDA_CORES_PER_RANK"])
    if options.preset == "cpu":
        os.environ["RUEDA_GPUS_PER_NODE"] = "0"  # submit.sh reads it too
    if options.dry_run:
        for series in plan:
            say(text_of(job_of(series, options, words)))
        return 0
    folder = options.out / "slurm"
    with claim_study(options.out, shared=True):
        make_directory(folder)
        with Claim(folder / MARK, "the study {}".format(options.out)):
            write_study(plan, options)
            return send_missing(plan, options, machine, words, folder)


def send_missing(plan, options, machine, words, folder):
    known = read_json(folder / "jobs.json") or {}
    waiting = queued_jobs()
    attempts = Attempts(options, machine)
    jobs = {name: job for name, job in known.items() if isinstance(job, str) and job in waiting}
    report = jobs.pop("report", None)
    old = len(jobs)
    for series in plan:
        if series.name not in jobs and not is_done(series, attempts):
            jobs[series.name] = send(job_of(series, options, words))
            write_json(folder / "jobs.json", jobs)
    new = len(jobs) - old
    if new or not report:
        report = send(report_job(options, words, jobs.values()))
    write_json(folder / "jobs.json", dict(jobs, report=report))
    sent = counted(new, "job")
    say("{} sent, {} in the queue before; the report is job {}".format(sent, old, report))
    say("their outputs are in {}".format(folder))
    return 0


def is_done(series, attempts):
    """Whether nothing of it is left to run."""
    configuration = series.first
    while configuration:
        state = attempts.state(configuration)
        if state != FINISHED:
            return state != OPEN and not attempts.options.retry
        configuration = attempts.next_of(series, configuration)
    return True


def job_of(series, options, words):
    first = series.first
    sbatch = ["--nodes={}".format(first.nodes), "--ntasks-per-node={}".format(first.ranks_per_node)]
    if os.environ["RUEDA_GPUS_PER_NODE"] != "0":
        sbatch.append("--gres=gpu:{}".format(first.ranks_per_node))
    return command(sbatch, series.name, options, words, ["--only", series.name])


def report_job(options, words, jobs):
    sbatch = ["--nodes=1", "--ntasks-per-node=1", "--gres=none"]
    if jobs:
        sbatch.append("--dependency=afterany:" + ":".join(jobs))
    return command(sbatch, "report", options, words, ["--report-only"])


def command(sbatch, name, options, words, more):
    """submit.sh with the words of this study: the job does its part of the same study."""
    split = words.index("--") if "--" in words else len(words)
    own = [word for word in words[:split] if word != "--submit"]
    own += ["--threads", str(options.threads)] + more
    sbatch = sbatch + ["--parsable", "--cpus-per-task={}".format(options.threads)]
    sbatch += ["--time=" + options.time, "--job-name=" + name]
    sbatch.append("--output={}".format(options.out / "slurm" / "%x.%j.out"))
    start = [str(JOBS / "submit.sh")] + sbatch + [str(JOBS / "study.sh")]
    return start + own + words[split:]


def send(words):
    """The job's number."""
    code, out, error = child_process.run(words, ANSWER_SECONDS)
    if code is None:
        raise Fault("sbatch did not answer within {} s ({})".format(ANSWER_SECONDS, text_of(words)))
    if code != 0:
        raise Fault("a job was not accepted: {} ({})".format(error.strip(), text_of(words)))
    return out.strip().partition(";")[0]


def queued_jobs():
    """This user's jobs that have not ended."""
    try:
        code, listed, _ = child_process.run(["squeue", "-h", "-o", "%i", "-u", getpass.getuser()], ANSWER_SECONDS)
    except OSError:
        code = None
    if code != 0:
        raise Fault("squeue does not answer: --submit needs a login node of a Slurm cluster")
    return set(listed.split())
