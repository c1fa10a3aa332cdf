"""How each command of the documents is tried: what stands for its placeholders, and what is not run, for which reason.

Every reason not to run something has to match some command, so that none outlives what it was made for.
"""

import re

# A word in capitals, by what comes before it, and what stands for it.
PLACEHOLDERS = (
    (r"--keras-log FILE\b", "--keras-log slurm-4711.out"),
    (r"--data DATA\b", "--data data/cifar-10-batches-py"),
    (r"\bRUN_DIR\b", "runs/one"),
    (r"\bRUEDA_SITE=SITE\b", "RUEDA_SITE=cpu"),
    (r"-n P\b", "-n 2"),
    (r"\breport A B\b", "report runs/one runs/two"),
    (r"jobs/plot_report\.py DIR\b", "jobs/plot_report.py report"),
    (r"\bRUN\.json PICTURE", "runs/layers/run.json picture.png"),
    (r"(PREFIX|/usr)/share/rueda/", "jobs/"),
    (r"\$RUEDA_SHARE/", ""),
    (r"rueda train OPTIONS ", "rueda train --epochs 2 "),
    (r" OPTIONS$", ""),
    (r"--checkpoint-every N\b", "--checkpoint-every 1epoch"),
)

# What is not run although nothing is missing in it: a pattern, and why. The words of our own programs and scripts in
# it are looked up all the same.
NOT_RUN = (
    (r"^(apt-get|chmod|dnf|spack|sudo|python3 -m venv|venv/bin/|dnnl=)", "installs packages or changes the system"),
    (r"^(module|source hpcx)", "loads what a site calls so"),
    (r"--with-ft ulfm", "needs Open MPI 5, which tests/cli/lessons_test.py brings"),
    (r"^(CXX=CC |DESTDIR=DIR )?(meson|ninja|cmake)\b", "builds or tests the whole program, as jobs/test.sh does"),
    (r"^(\. jobs/env\.sh; mpiexec .*)?build\S*/tests/|^RUEDA_FUZZ_TARGET=", "is one of the test programs, by itself"),
    (r"^jobs/(site/package_deb|site/release|test|quickstart|lint|setup|tidy|matrix|fuzz|gpu-check|gpu_plans|bundle|"
     r"bench_frameworks)\.sh",
     "builds or measures for minutes, as other tests or a person do"),
    (r"^RUEDA_(PLAN_CACHE|TORCH_PYTHON)=|\btorchrun\b", "needs cuDNN or other frameworks"),
    (r"^(jobs/(check|cluster|lab)/(?!compare)|(python3 )?tests/)", "is a check of the developers, of minutes"),
    (r"tests/(bench|faults|lab)/", "is a check of the developers, of minutes"),
    (r"rueda-bundle", "needs a bundle, which jobs/check/bundle.sh tries"),
    (r"^jobs/data\.sh (cifar10|fashion-mnist|convert)( |$)", "takes a network, a package or a reader's own files"),
    (r"^(tail -n \+2 trainLabels|for class in train|while read -r file class)",
     "sorts a reader's own pictures; tests/cli/data_test.py runs it"),
    (r"^(docker|(srun .*)?apptainer|reframe|git|ln) ", "is another program's, which this test does not start"),
    (r"\bgdb\b|^kill |\bpgrep\b|&$", "looks at a process of the reader's"),
    (r"^mpirun( -q| --mca \S+( \S+)?| --[a-z-]+)+( \.\.\.)?$|^mpiexec --timeout|^srun --(mpi=pmix|label)$|"
     r"^rueda train --backend timed$|^OMPI_CXX=\S+ mpicxx( \.\.\.)?$", "is a part of a command"),
)  # fmt: skip

# Pages whose commands others run, or were run on their day, as they then were. Their words are looked up all the same.
PAGES = {
    "docs/tutorial.md": "jobs/check/tutorial.sh runs them",
    "docs/why-not-scaling.md": "jobs/check/tutorial.sh runs them",
    "the head of ": "a script's own examples; some of them run for minutes",
    "docs/results/": "they were measured on their day",
}

# A command or a script by its name, with no more than options without values and words in capitals.
MENTION = re.compile(
    r"(\S*rueda( bench)?( [a-z-]+)?|(jobs|tests)/\S+\.(sh|py))"
    r"( \[?--[\w-]+\]?| \[?[A-Z][A-Z_.]+\]?| N\]?| <[A-Z]+| \.\.\.)*"
)


def filled(text):
    """The command with something for each placeholder, without dots that stand for more words."""
    for pattern, instead in PLACEHOLDERS:
        text = re.sub(pattern, instead, text)
    return re.sub(r" \.\.\.(?= |$)", "", text)


def reason_not_to_run(text):
    """(pattern, why), or nothing."""
    return next(((pattern, why) for pattern, why in NOT_RUN if re.search(pattern, text)), None)


def is_mention(command):
    """Whether the running text only names a command, a script or options of it, or what may be left out of it."""
    return command.inline and bool(MENTION.fullmatch(command.text) or re.search(r" \[(--|[A-Z])", command.text))
