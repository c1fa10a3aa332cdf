"""What the headings of hand-ins mean: the words of the courses' hand-outs, and how students say them in English,
Spanish and Catalan."""

import re
from functools import lru_cache

from .written import unit_of_heading, words_of, written_numbers

# Words that say nothing about what is measured.
_FILLERS = frozenset("""
    # 2 2nd a an and at average avg by d de del each el elapsed en for from global in it its l la las los mean
    measured median mi my no nombre nuestra nuestro num number numero obtained of on our paral parallel per por
    relative s sec second seconds segona segons segon segunda segundos state steady the to total train training
    with x""".split())
_EPOCH_WORDS = frozenset("epoch epochs epoca epocas epoques".split())
_TIME_WORDS = frozenset("clock duracion duration ejecucio ejecucion execucio execution runtime t temps tiempo "
                        "time wall walltime".split())
_TIME_KEYS = ("epoch_s", "time_s", "epoch_seconds")
# What is measured, its columns in the tables of the runs, the best first, and the words that name it, in any order.
_QUANTITIES = (
    ("ranks", ("ranks",), """
     p, n, np, gpu, gpus, gpus used, rank, ranks, process, processes, procesos, processos, worker, workers, replica,
     replicas, device, devices"""),
    ("model", ("model", "series"), "model, modelo, network, net, series, architecture, red, modelo red, xarxa"),
    ("batch", ("batch", "global_batch", "rank_batch"), """
     batch, batch size, batchsize, lote, lot, tamano lote, mida lot"""),
    ("batch of a rank", ("rank_batch", "batch"), """
     batch gpu, batch size gpu, batch rank, batch size rank, local batch, local batch size"""),
    ("time", _TIME_KEYS, """
     seconds, seconds epoch, seconds per epoch, sec per epoch, s per epoch, segundos epoca, segundos por epoca,
     segons per epoca"""),
    ("first epoch", ("first_epoch_s", "first_epoch_seconds"), """
     first epoch, first epoch time, 1st epoch, epoch 1, epoch 1 time, primera epoca, tiempo primera epoca,
     temps primera epoca"""),
    ("step time", ("full_step_seconds",), "step, step time, ms step, full step, tiempo paso, temps pas"),
    ("throughput of a rank", ("images_per_second_per_rank",), """
     throughput gpu, throughput rank, images gpu, images s gpu, img s gpu"""),
    ("throughput", ("images_per_second", "step_images_per_second"), """
     throughput, rate, image rate, images s, images sec, images second, images per second, images per sec, img s,
     imgs s, img per sec, samples s, rendimiento, rendiment, productividad, imagenes s, imagenes por segundo, imatges s,
     imatges per segon"""),
    ("ideal speedup", ("ideal_speedup",), """
     ideal, linear, ideal speedup, ideal speed up, linear speedup, aceleracion ideal, acceleracio ideal"""),
    ("ideal efficiency", ("ideal_efficiency",), "ideal efficiency, eficiencia ideal"),
    ("scaled speedup", ("scaled_speedup", "step_speedup"), "scaled speedup, scaled speed up, p speedup"),
    ("speedup", ("speedup", "steady_ratio"), """
     speedup, speedups, speed up, sp, s, s p, speedup factor, acceleration, aceleracion, acceleracion, acceleracio,
     ganancia, guany"""),
    ("efficiency", ("efficiency", "step_efficiency"), """
     efficiency, efficiency %, eff, eff %, effic, efic, e, e p, scaling efficiency, eficiencia, eficacia"""),
)
_STRUCTURE = ("ranks", "model", "batch", "batch of a rank")
# Parts of words that say of a column of numbers that it is no figure of speed.
_HARMLESS = re.compile("|".join(r"""
    accura acuracy \bacc\b batch comentari comment cores?\b cost date energ epochs?\b \bgb\b grade group grup
    host images?\sof job joule learning loss lote \blr\b memor node nota note observa param perdid points precis
    price puntos remark repeat \bruns?\b seed semilla steps?\b tarea tasca task thread watt \bwh\b""".split()))
_LIKE = (("time", r"time|tiemp|temps|durac|durat|second|segund|segon|\bms\b|minut"),
         ("speedup", r"speed|acel|accel|ganan|guany|faster|rapid|\btimes\b|ratio"),
         ("efficiency", r"effic|\beff|efic|scal|escal|percent"),
         ("throughput", r"throughp|rendim|imag|imat|\bimg|(?<!learning )rate\b|per sec"))
_BY_WORDS = {frozenset(words.split()): (name, keys) for name, keys, phrases in _QUANTITIES
             for words in phrases.split(",")}


@lru_cache(maxsize=10_000)
def quantity_of(heading):
    """What a heading names, and the keys of columns that have it: ("speedup", ("speedup", ...)); ("", ()) where nobody
    knows."""
    words = words_of(heading)
    unit = unit_of_heading(heading)
    for named in (words, words - _FILLERS):
        if named in _BY_WORDS:
            return _BY_WORDS[named]
    rest = words - _FILLERS - _EPOCH_WORDS
    in_seconds = unit is not None and unit.kind == "time"
    if rest <= _TIME_WORDS and (rest or (words and in_seconds)):
        return "time", _TIME_KEYS
    return "", ()


def looks_like(heading, cells):
    """"speedup", where a column that was not compared seems to have figures of speed: by its name, or because it has
    numbers and nothing says of what. Empty where it does no harm."""
    if not any(written_numbers(cell) for cell in cells):
        return ""
    quantity, _ = quantity_of(heading)
    text = " ".join(re.findall(r"\w+", heading.lower().replace("_", " ")))
    unit = unit_of_heading(heading)
    like = [quantity] if quantity else [name for name, pattern in _LIKE if re.search(pattern, text)]
    if like:
        return "" if like[0] in _STRUCTURE else like[0]
    if _HARMLESS.search(text):
        return ""
    return unit.kind if unit and unit.kind in ("time", "share", "rate") else "a figure of its own"
