"""The programs that gpu-check runs, from a build tree or an unpacked bundle, and from the machine; and how rueda
trains on the GPU."""

import fcntl
import importlib.util
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

from runner import Failure, NotRun

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cuda" / "libraries"))

import find_library  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
# Name to paths in a bundle and in a build tree.
PROGRAMS = {
    "rueda": ("bin/rueda", "build/rueda"),
    "cuda": ("bin/cuda", "build/tests/cuda/cuda"),
    "backend_cuda": ("bin/backend_cuda", "build/tests/cuda/backend_cuda"),
    "parity_cuda": ("bin/parity_cuda", "build/tests/cuda/parity_cuda"),
    "mpi": ("bin/mpi", "build/tests/mpi"),
}
LIBRARIES = ("cudnn", "cublas")
LDD_SECONDS = 30
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1  # of Linux


@dataclass
class Tools:
    programs: dict = field(default_factory=dict)
    mpirun: Optional[str] = None
    no_mpirun: str = "no mpirun"  # why there is none
    sanitizer: Optional[str] = None
    torch_python: Optional[str] = None
    ncu: Optional[str] = None
    nvidia_smi: Optional[str] = None
    mps_control: Optional[str] = None  # lets processes compute on one GPU at the same time
    # For rueda's own programs alone: PyTorch brings its libraries itself.
    library_path: str = ""
    rehearsal: bool = False  # networks and buffers as small as can be
    out: Path = Path()
    logs: Path = Path()
    carried: Path = Path()  # what was tuned and compiled and serves later calls
    device: str = ""  # the kind of GPU
    tuning_file: Path = Path()  # there, of this kind of GPU and cuDNN: rueda refuses that of others
    results: list = field(default_factory=list)  # so far

    def launch(self, ranks, program, *words):
        """A command; one rank needs no launcher."""
        command = [self.programs[program], *words]
        if ranks == 1:
            return command
        return [self.mpirun, "--bind-to", "none", "--oversubscribe", "-n", ranks, *command]


def find_program(name, given):
    """From the folder that was given, or from the tree of this file."""
    paths = [Path(given, name)] if given else [ROOT / path for path in PROGRAMS[name]]
    return next((str(path) for path in paths if os.access(path, os.X_OK)), None)


def find_torch_python():
    given = os.environ.get("RUEDA_TORCH_PYTHON")
    if given:
        return given if os.access(given, os.X_OK) else None
    return sys.executable if importlib.util.find_spec("torch") else None


def cuda_home():
    nvcc = shutil.which("nvcc")
    found = Path(nvcc).resolve().parents[1] if nvcc else Path("/usr/local/cuda")
    return Path(os.environ.get("CUDA_HOME") or found)


def real_program(program):
    """The program itself: in a bundle a script starts it."""
    real = ROOT / "libexec" / Path(program).name
    return real if real.exists() else program


def missing_libraries(program):
    """Names of the shared libraries that the loader does not find; in a bundle, its own are searched first."""
    real = real_program(program)
    paths = os.environ.get("LD_LIBRARY_PATH", "")
    if real != program:
        paths = f"{ROOT / 'lib'}:{paths}"
    try:
        done = subprocess.run(
            ["ldd", real], env={**os.environ, "LD_LIBRARY_PATH": paths}, capture_output=True, text=True, check=False,
            timeout=LDD_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return []
    return [line.split()[0] for line in done.stdout.splitlines() if line.endswith("not found")]


def library_path(program):
    """What is set already, and folders of what the loader misses: cuDNN may be in PyTorch's folders only."""
    roots = [root for name in LIBRARIES for root in find_library.own_roots(name)] + [cuda_home()]
    folders = find_library.library_folders(roots)
    extra = []
    for name in missing_libraries(program) + find_library.opened_names(real_program(program)) if program else []:
        found = next((str(folder) for folder in folders if (folder / name).is_file()), None)
        if found and found not in extra:
            extra.append(found)
    return ":".join([*filter(None, [os.environ.get("LD_LIBRARY_PATH")]), *extra])


def set_loopback_up():
    """Does what `ip link set lo up` does, where containers without a network have left `lo` down, and says what it
    found. OSError where that is not allowed."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.Struct("16sH14x")  # ifreq: a name, flags
        name, flags = request.unpack(fcntl.ioctl(any_socket, SIOCGIFFLAGS, request.pack(b"lo", 0)))
        if flags & IFF_UP:
            return "up"
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, request.pack(name, flags | IFF_UP))
    return "was down, is set up"


def prepare_network(tools):
    """What can be said of `lo`, without which Open MPI's mpirun starts nothing; one rank needs no launcher."""
    try:
        return set_loopback_up()
    except OSError as error:
        tools.mpirun = None
        tools.no_mpirun = ("mpirun needs the network interface lo, which is down and can not be set up: "
                           f"{error.strerror}")
        return f"down: {error.strerror}"


def find_tools(given, rehearsal, out):
    """`given`: a folder with rueda's programs, or nothing."""
    programs = {name: find_program(name, given) for name in PROGRAMS}
    path = f"{os.environ['PATH']}:{cuda_home() / 'bin'}"
    return Tools(
        programs=programs,
        mpirun=shutil.which("mpirun") or shutil.which("mpiexec"),
        sanitizer=shutil.which("compute-sanitizer", path=path),
        ncu=shutil.which("ncu", path=path),
        nvidia_smi=shutil.which("nvidia-smi"),
        mps_control=shutil.which("nvidia-cuda-mps-control"),
        torch_python=find_torch_python(),
        library_path=library_path(programs["rueda"]),
        rehearsal=rehearsal,
        out=out,
        logs=out / "logs",
        carried=out / "carried",
    )


def require_torch(tools):
    if tools.torch_python is None:
        raise NotRun("no Python with PyTorch")


def torch_cudnn(shell, tools):
    """The folder of the cuDNN that PyTorch brings with it. NotRun where there is none."""
    require_torch(tools)
    words = [tools.torch_python, "-c", "import nvidia.cudnn; print(*nvidia.cudnn.__path__, sep='\\n')"]
    folders = [Path(line, "lib") for line in shell.run(words).stdout.splitlines()]
    found = next((folder for folder in folders if any(folder.glob("libcudnn.so*"))), None)
    if found is None:
        raise NotRun("PyTorch brings no cuDNN of its own")
    return found


def versions(shell, tools):
    """What `rueda --version` names, by name: rueda, and the cuDNN that it runs on, which engines depend on."""
    done = shell.run(tools.launch(1, "rueda", "--version"), LD_LIBRARY_PATH=tools.library_path)
    return dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if len(line.split()) > 1)


def require(tools, ranks, program="rueda"):
    if tools.programs[program] is None:
        raise NotRun(f"no program {program}")
    if ranks > 1 and tools.mpirun is None:
        raise NotRun(tools.no_mpirun)


def train(shell, tools, ranks, label, options, prefix=(), **environment):
    """run.json of a run of `ranks` ranks on the one GPU. `options`: name to value; None for a flag. `prefix`: words of
    a tool that watches the run."""
    require(tools, ranks)
    run_dir = Path(shell.folder, label)
    every = {
        "backend": "cuda", "allow-shared-gpu": None, "data": "synthetic", "eval-every": 0,
        "progress": "off", "overwrite": None, "run-dir": run_dir, **options,
    }  # fmt: skip
    words = [word for name, value in every.items() for word in (f"--{name}", value) if word is not None]
    words = [*prefix, *tools.launch(ranks, "rueda", "train", *words)]
    shell.run_well(words, LD_LIBRARY_PATH=tools.library_path, **environment)
    try:
        record = json.loads((run_dir / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Failure(f"no run.json that can be read: {error}") from error
    if record["outcome"] != "completed":
        raise Failure(f"the run's outcome is '{record['outcome']}'")
    return record


def data_set(shell, tools, images):
    """A folder with so many training images, drawn once: `--data synthetic` has 5,000."""
    folder = Path(shell.folder, f"data-{images}")
    if not folder.exists():
        words = ["synth", "--out", folder, "--format", "bin", "--train", images, "--test", 100]
        shell.run_well(tools.launch(1, "rueda", *words), LD_LIBRARY_PATH=tools.library_path)
    return folder


def parameter_hash(record):
    return record["epochs"][-1]["parameter_hash"]
