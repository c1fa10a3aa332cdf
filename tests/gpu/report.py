"""The report of gpu-check as Markdown, ready for a page like docs/results/h100.md."""

import expected
from runner import NOT_RUN, counts


def heading(about):
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return [
        f"## {about['device']}, {about['date']}",
        f"{versions or 'versions unknown'}; {about['host_cores']} CPU cores; driver {about['driver']}; "
        f"lo {about['loopback']}.",
        f"Taken along: {about['carried']}."
        + (f" Packed for later calls: {about['packed']}." if "packed" in about else ""),
        *([about["resumed"]] if "resumed" in about else []),
    ]


def verdicts(results):
    rows = ["| part | what | result | seconds |", "|---|---|---|---|"]
    for one in results:
        outcome = one["status"] + (f": {one['why']}" if "why" in one else "")
        rows.append(f"| {one['part']} | {one['name']} | {cell(outcome)} | {one['seconds']:.0f} |")
    return "\n".join(rows)


def cell(text):
    return str(text).replace("|", "/").replace("\n", " ")


def gigabytes(count):
    return f"{count / 1e9:.2f}"


def bench_table(results):
    rows = [
        "| case | | images/s | share of the floor | the plan | peak memory, GB | ms of the host a step | "
        "rueda is ... times as fast | rueda's memory |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for one in results:
        data = one.get("data", {})
        for name, figure in data.get("contestants", {}).items():
            rows.append(bench_row(one["name"], name, figure, data["plan_images_per_second"]))
    return "\n".join(rows) if len(rows) > 2 else None


def bench_row(case, name, figure, plan):
    if "failure" in figure:
        return f"| {case} | {name} | failed: {cell(figure['failure'])} | | | | | | |"
    cells = [
        case, name, f"{figure['images_per_second']:,.0f}", f"{figure['share_of_floor']:.2f}",
        f"{plan:,.0f}" if name == "rueda" else "", gigabytes(figure["peak_memory_bytes"]), host_time(figure),
        rounded(figure.get("rueda_is_times_as_fast")), rounded(figure.get("rueda_memory_ratio")),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def host_time(figure):
    """With a mark where the host is the limit, so that the figure says nothing of the GPU."""
    if "host_milliseconds" not in figure:
        return ""
    return f"{figure['host_milliseconds']:.2f}" + " **host-bound**" * figure["host_bound"]


def rounded(value):
    return "" if value is None else f"{value:.2f}"


def bounds(figure):
    """What was expected, in words."""
    low, high = figure.get("within", (None, None))
    if "is" in figure:
        text = figure["is"]
    elif high is None:
        text = f"at least {low:,g}"
    elif low is None:
        text = f"at most {high:,g}"
    else:
        text = f"{low:,g}" if low == high else f"{low:,g} to {high:,g}"
    odds = f", odds {figure['odds']:g}" if "odds" in figure else ""
    return f"{text} {figure.get('unit', '')}".rstrip() + odds


def shown(value):
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def expected_table(rows):
    if not rows:
        return None
    lines = ["| step | figure | expected | measured | verdict | what it says |", "|---|---|---|---|---|---|"]
    for row in rows:
        path = ", ".join(", ".join(map(str, key.values())) if isinstance(key, dict) else key for key in row["figure"])
        cells = (row["step"], path, bounds(row), shown(row["measured"]), row["verdict"], row["says"])
        lines.append(f"| {' | '.join(map(cell, cells))} |")
    return f"Expected: {expected.read()['about']}\n\n" + "\n".join(lines)


PLAN_NOTE = (
    "The plan of convolutions has what is launched beside them; that of all others has the dense layer and the update."
)


def kernels_tables(results):
    """Of a step's kernels by kind."""
    for one in results:
        data = one.get("data", {})
        if "kinds" in data:
            rows = [f"| {one['name']} | launches | us | plan, us | MB | us a launch |", "|---|---|---|---|---|---|"]
            for kind, sums in data["kinds"].items():
                plan, each = rounded(data["plan"].get(kind)), rounded(sums["microseconds a launch"])
                times = f"{sums['microseconds']:.1f} | {plan}"
                rows.append(f"| {kind} | {sums['launches']} | {times} | {sums['MB']:.1f} | {each} |")
            yield "\n".join([*rows, "", PLAN_NOTE])


def watch_table(results):
    """The GPU's clocks and power beside each step: minimum, median, maximum."""
    seen = [(one["name"], one["gpu"]) for one in results if "gpu" in one]
    rows = [(name, gpu) for name, gpu in seen if "not recorded" not in gpu]
    if not rows:
        return f"Clocks and power: not recorded: {seen[0][1]['not recorded']}." if seen else None
    names = list(rows[0][1])
    lines = [f"| step; minimum, median, maximum | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for name, gpu in seen:
        cells = [", ".join(f"{value:g}" for value in gpu[field]) if field in gpu else "not recorded" for field in names]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def rates_line(rates):
    how = "measured by PyTorch in this call" if rates["measured"] else "ASSUMED, not measured"
    return (
        f"Floor from a bf16 product of {rates['bf16_flops_per_second'] / 1e12:.0f} TFLOP/s, TF32 "
        f"{rates['tf32_flops_per_second'] / 1e12:.0f} TFLOP/s, and a copy of "
        f"{rates['copy_bytes_per_second'] / 1e12:.2f} TB/s, {how}."
    )


def ring_table(results):
    rows = ["| run | MB | algorithm | ms | bus bandwidth, GB/s |", "|---|---|---|---|---|"]
    for one in (one for one in results if one["part"] == "ring"):
        for row in one.get("data", {}).get("rows", []):
            size = f"{row['bytes'] / 1e6:.3g}"
            timing = f"{row['milliseconds']:.3f} | {row['busbw_GBps']:.2f}"
            rows.append(f"| {one['name']} | {size} | {row['algorithm']} | {timing} |")
    return "\n".join(rows) if len(rows) > 2 else None


def as_markdown(about, results, rates, judged):
    bench = bench_table(results)
    parts = [*heading(about), summary_line(results)]
    if about.get("rehearsal"):
        parts.append("**A rehearsal on tiny networks and buffers: its figures mean nothing.**")
    parts += [rates_line(rates), bench] if bench else []
    parts += filter(None, [expected_table(judged), *kernels_tables(results), ring_table(results), watch_table(results)])
    return "\n\n".join([*parts, verdicts(results)]) + "\n"


def summary_line(results):
    number = counts(results)
    return f"{number['passed']} passed, {number['failed']} failed, {number[NOT_RUN]} not run"
