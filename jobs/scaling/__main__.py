"""What jobs/scale.sh runs: python3 jobs/scaling ARGUMENTS."""

import signal
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))  # for child_process.py, which run-again.sh uses too

from attempts import Attempts
from checks import check_batches, check_data, check_launcher, check_models, check_places, write_study
from claim import claim_study, make_directory
from command_line import parse
from common import Fault, counted, printable, say
from launch import text_of, this_machine, threads_for
from plan import make_plan
from report import make_report
from study import Study
from submit import submit


def choose_threads(options, machine):
    if options.threads is None:
        options.threads = threads_for(machine.cores, options.ranks_per_node)
    threads, cores = counted(options.threads, "thread"), counted(machine.cores, "core")
    line = "{} per rank on {}".format(threads, cores)
    crowded = [ranks for ranks in options.ranks_per_node if ranks * options.threads > machine.cores]
    if crowded and not machine.in_slurm:
        line += "; with {} ranks they share cores".format(" or ".join(map(str, crowded)))
    say(line)


def dry_run(plan, attempts):
    for series in plan:
        say(text_of(attempts.command(series.first)))
        if series.sweep:
            last = series.sweep.last or "memory is full"
            say("# and so on, {} times as many each time, until {}".format(series.sweep.factor, last))


def scale(words):
    options = parse(words)
    machine = this_machine()
    check_models(options)
    plan = make_plan(options)
    if options.only:
        plan = [series for series in plan if series.name == options.only]
    check_batches(plan)
    if not options.dry_run and not options.report_only:
        check_data(options)
    if options.submit:
        return submit(plan, options, machine, words)
    choose_threads(options, machine)
    if options.report_only:
        return make_report(options)
    attempts = Attempts(options, machine)
    study = Study(plan, attempts, options)
    check_places(plan, options, machine)
    if options.dry_run:
        dry_run(plan, attempts)
        return 0
    check_launcher(options, machine)
    with claim_study(options.out, shared=bool(options.only)):
        return run_study(study, plan, options)


def run_study(study, plan, options):
    if options.only:
        make_directory(options.out / "runs")
        study.run()
        return 0
    write_study(plan, options)
    study.run()
    study.print_failures()
    if not study.trained:
        print("scale.sh: nothing was trained, so there is no report", file=sys.stderr)
        return 1
    return make_report(options)


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def interrupt(number, frame):
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)  # what was started is ended now, which has a limit
    raise KeyboardInterrupt


def main():
    for number in SIGNALS:
        # INT also where it is ignored, as in a shell's background jobs; what nohup asks for stays.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupt)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ends without a word where nobody reads on
    try:
        return scale(sys.argv[1:])
    except Fault as fault:
        print("scale.sh: {}".format(printable(str(fault))), file=sys.stderr)
        return 2
    except OSError as error:
        print("scale.sh: {}: {}".format(printable(str(error.filename or "the output")), error.strerror),
              file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("scale.sh: interrupted; the same command goes on with what is missing", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
