"""What the benches against fio share: fio's side of a pair, and the table of reads."""

import json
import os
import statistics
import subprocess
import sys
import tempfile


def fio(*words):
    """What the group of a job's processes did; O_DIRECT."""
    command = ["fio", "--name=job", "--direct=1", "--ioengine=psync", "--group_reporting", "--output-format=json", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0]


def fio_reads(path, size, block, sessions, seconds):
    """Random reads of one block per second, one process for each session."""
    return fio(f"--filename={path}", f"--size={size}", "--rw=randread", f"--bs={block}", f"--numjobs={sessions}",
               "--time_based", f"--runtime={seconds}", "--ramp_time=1", "--norandommap")["read"]["iops"]


def fio_writes(folder, size, streams):
    """Bytes per second of new files, one for each stream, written from their beginning to their end."""
    job = fio(f"--directory={folder}", f"--size={size // streams}", "--rw=write", "--bs=1m", f"--numjobs={streams}",
              "--fallocate=none", "--end_fsync=1")
    return job["write"]["bw_bytes"]


def confirmed(record):
    """Physical reads per second as the database counts them, and the share of them that the device confirms."""
    reads = record["counters"]["physical_reads"]
    device = (record["host"].get("device") or {}).get("counters")
    share = device["read_bytes"] / (reads * record["server"]["block_bytes"]) if device else float("nan")
    return reads / record["window"]["seconds"], share


def compare_reads(slob_record, size, block, pairs, options):
    """Prints a line for each number of sessions; `pairs` measures two sides side by side, `slob_record` is a run of ours."""
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = os.path.join(folder, "fio.dat")
        fio(f"--filename={path}", f"--size={size}", "--rw=write", "--bs=1m")
        print(f"\n{'sessions':>8} {'slob reads/s':>13} {'fio reads/s':>12} {'ratio':>6} {'range':>11} {'by the device':>14}")
        for sessions in options.sessions:
            measured = list(pairs(lambda: confirmed(slob_record(sessions)),
                                  lambda: fio_reads(path, size, block, sessions, options.seconds), options.pairs))
            ratios = sorted(ours[0] / theirs for ours, theirs in measured)
            median = statistics.median
            print(f"{sessions:>8} {median(ours[0] for ours, _ in measured):>13.0f} {median(other for _, other in measured):>12.0f}"
                  f" {median(ratios):>6.2f} {ratios[0]:>5.2f}-{ratios[-1]:.2f}"
                  f" {median(ours[1] for ours, _ in measured):>13.0%}", flush=True)
