"""The report of gpu-check as Markdown, ready for a page like docs/results/h100.md."""

from runner import NOT_RUN, counts


def heading(about):
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return [
        f"## {about['device']}, {about['date']}",
        f"{versions or 'versions unknown'}; {about['host_cores']} CPU cores; driver {about['driver']}; "
        f"lo {about['loopback']}.",
        f"Taken along: {about['carried']}." + (f" Packed for later calls: {about['packed']}." if "packed" in about else ""),
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
        "| case | | images/s | share of the floor | peak memory, GB | rueda is ... times as fast | rueda's memory |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in results:
        for name, figure in one.get("data", {}).get("contestants", {}).items():
            rows.append(bench_row(one["name"], name, figure))
    return "\n".join(rows) if len(rows) > 2 else None


def bench_row(case, name, figure):
    if "failure" in figure:
        return f"| {case} | {name} | failed: {cell(figure['failure'])} | | | | |"
    ratio, memory = figure.get("rueda_is_times_as_fast"), figure.get("rueda_memory_ratio")
    cells = [
        case, name, f"{figure['images_per_second']:,.0f}", f"{figure['share_of_floor']:.2f}",
        gigabytes(figure["peak_memory_bytes"]), f"{ratio:.2f}" if ratio else "", f"{memory:.2f}" if memory else "",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def rates_line(rates):
    how = "measured by PyTorch in this call" if rates["measured"] else "ASSUMED, not measured"
    return (
        f"Floor from a bf16 product of {rates['bf16_flops_per_second'] / 1e12:.0f} TFLOP/s, TF32 "
        f"{rates['tf32_flops_per_second'] / 1e12:.0f} TFLOP/s, and a copy of "
        f"{rates['copy_bytes_per_second'] / 1e12:.2f} TB/s, {how}."
    )


def ring_table(results):
    rows = ["| run | MB | algorithm | ms | bus bandwidth, GB/s |", "|---|---|---|---|---|"]
    for one in results:
        for row in one.get("data", {}).get("rows", []):
            size = f"{row['bytes'] / 1e6:.1f}"
            timing = f"{row['milliseconds']:.3f} | {row['busbw_GBps']:.2f}"
            rows.append(f"| {one['name']} | {size} | {row['algorithm']} | {timing} |")
    return "\n".join(rows) if len(rows) > 2 else None


def of_part(results, part):
    return [one for one in results if one["part"] == part]


def as_markdown(about, results, rates):
    bench = bench_table(of_part(results, "bench"))
    parts = [*heading(about), summary_line(results)]
    if about.get("rehearsal"):
        parts.append("**A rehearsal on tiny networks and buffers: its figures mean nothing.**")
    parts += [rates_line(rates), bench] if bench else []
    parts += filter(None, [ring_table(of_part(results, "ring"))])
    return "\n\n".join([*parts, verdicts(results)]) + "\n"


def summary_line(results):
    number = counts(results)
    return f"{number['passed']} passed, {number['failed']} failed, {number[NOT_RUN]} not run"
