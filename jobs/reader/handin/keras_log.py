"""Runs out of what Keras' fit() printed or another trainer wrote as a CSV, and the words of --keras-log."""

import math
from dataclasses import dataclass

from ..base.json_view import InputFile
from ..base.text import printable
from ..start import Unusable, path_of
from ..study.observation import Processor
from .epoch_table import is_epoch_table, read_epoch_table
from .keras_line import find_epoch_mark, parse_finished_line, parse_run_header
from .logged_run import LoggedRun, images_of_epoch, observe
from .text_input import output_lines

_MOST_BYTES = 1_000_000_000
_MOST_EPOCHS = 100_000
_CIFAR_IMAGES = 50_000.0
_REMEDY = ('give what Keras\' fit() printed with verbose=1 or 2, with lines such as "25/25 - 14s - loss: 2.13 - '
           '14s/epoch - '
           '544ms/step"')
_REMEDY_OF_TABLE = "give a CSV with a line of columns, such as epoch,seconds,images_per_second,ranks,global_batch"
_LIKE = ("/step", "/epoch", "loss", " - ", "Epoch", "accuracy")  # parts of a line of a finished epoch
_COUNTS = {"ranks": "ranks", "batch": "global_batch", "images": "images", "size": "image_size"}
_KEYS = ("model", "processor", *_COUNTS)


@dataclass
class KerasLog:
    """A log, and what is known of its runs from elsewhere, which wins over the log."""

    file: str
    model: str = ""  # empty: as the log says
    ranks: int = 0  # 0: as the log says, else 1
    global_batch: int = 0  # 0: as the log says
    image_size: int = 0  # pixels; 0: unknown
    images: int = 0  # in the data set; 0: 50,000, if steps and batch allow that
    processor: Processor = None  # None: gpu if the log mentions one


class _LogReader:
    """Puts the lines of a log together to runs."""

    def __init__(self, file):
        self.runs, self.nearest = [], ""  # words on the line that is most like one of a finished epoch
        self._file = file
        self._run = LoggedRun()
        self._nearest_like = 0
        self._open_epoch = 0  # of the last mark, until its line came
        self._epochs = 0
        self._marked = self._gpu = False

    def add(self, line):
        if line.of_rank_0:
            self._read_line(line.text)
        if self._epochs:
            return  # nothing will be refused
        like = sum(part in line.whole for part in _LIKE)
        if like > self._nearest_like:
            self._nearest_like = like
            self.nearest = f'; the nearest is "{printable(line.whole)}"'

    def finish(self):
        self._end_run()
        for run in self.runs:
            run.processor = Processor.gpu if self._gpu else run.processor

    def _read_line(self, line):
        """A mark may be anywhere in a line: some logs lost the line ends before them."""
        self._gpu = self._gpu or "NVIDIA-SMI" in line or "GPU:" in line
        mark = find_epoch_mark(line)
        while mark:
            self._read_piece(line[:mark.begin])
            self._begin_epoch(mark.number)
            line = line[mark.end:]
            mark = find_epoch_mark(line)
        self._read_piece(line)

    def _read_piece(self, piece):
        epoch = parse_finished_line(piece)
        header = None if epoch else parse_run_header(piece)
        if epoch:
            self._end_epoch(epoch)
        elif header:
            self._begin_run(header)

    def _begin_run(self, header):
        if self._end_run():
            self._run = LoggedRun()
        run = self._run
        run.model = printable(header.model) if header.model else run.model
        run.ranks = header.ranks or run.ranks
        run.global_batch = header.global_batch or run.global_batch
        self._gpu = self._gpu or header.ranks > 0  # replicas are of devices

    def _end_run(self):
        """Without a header, the next run is like this one. False if nothing of it was read."""
        if not self._run.epochs:
            return False
        self.runs.append(self._run)
        self._run = self._run.without_epochs()
        return True

    def _begin_epoch(self, number):
        self._marked = True
        if self._run.epochs and number <= self._run.epochs[-1].number:
            self._end_run()
        self._open_epoch = number

    def _end_epoch(self, epoch):
        """In a log with marks only the line after a mark counts: others are of evaluations."""
        if self._marked and not self._open_epoch:
            return
        if self._run.epochs and self._run.epochs[-1].steps != epoch.steps:
            self._end_run()
        self._epochs += 1
        if self._epochs > _MOST_EPOCHS:
            part = InputFile(self._file.path, "give the part of it that is to be compared", self._file.name)
            part.refuse(f"it has more than {_MOST_EPOCHS:,} epochs")
        run = self._run
        epoch.number = self._open_epoch if self._marked else len(run.epochs) + 1
        self._open_epoch = 0
        run.epochs.append(epoch)
        run.images = float(epoch.samples) if epoch.samples else run.images
        run.variant = "times with validation" if epoch.validates else run.variant


def _read_file(log):
    """Refuses a log without a finished epoch."""
    file = InputFile(path_of(log.file), _REMEDY, log.file)
    if is_epoch_table(file, _MOST_BYTES):
        return read_epoch_table(InputFile(path_of(log.file), _REMEDY_OF_TABLE, log.file))
    reader = _LogReader(file)
    for line in output_lines(file, _MOST_BYTES):
        reader.add(line)
    reader.finish()
    if not reader.runs:
        file.refuse("it has no line of a finished epoch of rank 0" + reader.nearest)
    return reader.runs


def _count_steps(run):
    """Logs that count samples have no steps."""
    if not run.global_batch or not run.images > 0:
        return
    for epoch in run.epochs:
        epoch.steps = epoch.steps or math.ceil(run.images / run.global_batch)


def _apply(log, run):
    run.source = "log " + printable(log.file)
    run.model = log.model or run.model or "unnamed model"
    run.ranks = log.ranks or run.ranks
    run.global_batch = log.global_batch or run.global_batch
    run.image_size = log.image_size
    run.processor = log.processor or run.processor
    if log.images or math.isnan(run.images):
        run.images = float(log.images or _CIFAR_IMAGES)
    _count_steps(run)
    steps = run.epochs[0].steps
    if log.images and math.isnan(images_of_epoch(run.images, steps, run.global_batch)):
        InputFile(log.file, "correct images= or batch= (of all ranks together)").refuse(
            f"{steps} steps of {run.global_batch} images are no epoch of {log.images}")


def _refuse_field(field, wanted):
    raise Unusable(f'--keras-log: "{printable(field)}": {wanted}')


def _is_field(text):
    key, equals, _ = text.partition("=")
    return bool(equals) and key in _KEYS


def _set_field(log, text):
    key, _, value = text.partition("=")
    if not _is_field(text):
        _refuse_field(text, "give model=, ranks=, batch=, images=, size= or processor=")
    if not value:
        _refuse_field(text, "give a value after =")
    if key in _COUNTS:
        whole = value.isascii() and value.isdigit() and len(value) < 19
        if not whole or not 0 < int(value) < 1_000_000_000:
            _refuse_field(text, "give a whole number from 1")
        setattr(log, _COUNTS[key], int(value))
        return
    if key == "model":
        log.model = value
    elif value in ("cpu", "gpu"):
        log.processor = Processor[value]
    else:
        _refuse_field(text, "give cpu or gpu")


def parse_keras_log_option(text):
    """"FILE[,model=NAME][,ranks=P][,batch=GLOBAL][,images=N][,size=PIXELS][,processor=cpu|gpu]". The first ",key=" ends
    the file name: a comma may also belong to it. Raises Unusable if a value is not one."""
    words = text.split(",")
    end = next((n for n in range(1, len(words)) if _is_field(words[n])), len(words))
    log = KerasLog(",".join(words[:end]))
    if not log.file:
        _refuse_field(text, "give a file before the first comma")
    for word in words[end:]:
        _set_field(log, word)
    return log


def read_logged_runs(log):
    """The runs in what Keras' fit() printed (verbose 1 or 2, TensorFlow 1 to Keras 3), or in rueda's own lines. A run
    begins where epochs count from 1 again or at a header ("Model ResNet50 2 GPUs", "Batch_size: 4096", "Num_replicas:
    2"). Or those of a CSV of epochs (epoch_table.py). Other lines of the file are ignored, and so are evaluations.
    Times with val_ figures include validation, and `variant` says so. Raises Unusable naming the file and the remedy
    if it is no file, larger than 1 GB, has more than 100,000 epochs or none, or if images, steps and batch contradict
    each other."""
    runs = _read_file(log)
    for run in runs:
        _apply(log, run)
    return runs


def read_keras_log(log):
    """The runs of a KerasLog as observations."""
    return [observe(run) for run in read_logged_runs(log)]
