#!/usr/bin/env python3
"""Which lines of src/ the tests have run: a table by folder, the total, and the files that miss most, with the lines.
Fails below 85 %. Called by ./dev coverage, with the folder of the coverage build."""
import json
import os
import shutil
import subprocess
import sys

LEAST = 85.0
WORST = 20  # files that are named

build = os.path.abspath(sys.argv[1])
# Each process writes its counts to its own folder; the files that describe the lines must be next to them.
for folder, _, names in list(os.walk(os.path.join(build, "CMakeFiles"))):
    for name in names:
        for pool in sorted(os.listdir(build + "/counts")) if os.path.isdir(build + "/counts") else []:
            place = f"{build}/counts/{pool}{folder}"
            if name.endswith(".gcno") and os.path.isdir(place):
                shutil.copy(os.path.join(folder, name), place)
out = subprocess.run(
    ["gcovr", "--root", ".", "--filter", "src/", "--exclude", ".*_test[.]cpp", "--exclude-throw-branches",
     "--gcov-ignore-parse-errors", "-j", str(os.cpu_count()), "--json", "-", build],
    check=True, stdout=subprocess.PIPE).stdout
files = {}
for entry in json.loads(out)["files"]:
    lines = {}
    for line in entry["lines"]:
        if not line["gcovr/noncode"]:
            lines[line["line_number"]] = lines.get(line["line_number"], 0) + line["count"]
    if lines:
        files[entry["file"]] = lines


def ranges(numbers):
    """[1, 2, 3, 7] as "1-3 7"."""
    words, start, last = [], None, None
    for number in sorted(numbers) + [None]:
        if last is not None and (number is None or number > last + 3):
            words.append(str(start) if start == last else f"{start}-{last}")
            start = None
        if start is None:
            start = number
        last = number
    return " ".join(words)


def percent(run, all_lines):
    return 100.0 * run / all_lines if all_lines else 100.0


folders = {}
missed = {}
for name, lines in files.items():
    folder = os.path.dirname(name)
    total = folders.setdefault(folder, [0, 0])
    total[0] += sum(1 for count in lines.values() if count > 0)
    total[1] += len(lines)
    missed[name] = [number for number, count in lines.items() if count == 0]

print(f"{'folder':16} {'lines':>7} {'run':>7} {'%':>6}")
for folder in sorted(folders):
    run, all_lines = folders[folder]
    print(f"{folder:16} {all_lines:7} {run:7} {percent(run, all_lines):6.1f}")
run = sum(total[0] for total in folders.values())
all_lines = sum(total[1] for total in folders.values())
print(f"{'all':16} {all_lines:7} {run:7} {percent(run, all_lines):6.1f}")

print("\nmissed most:")
for name in sorted(missed, key=lambda name: -len(missed[name]))[:WORST]:
    if missed[name]:
        print(f"{len(missed[name]):5} of {len(files[name]):4}  {name}: {ranges(missed[name])}")
if percent(run, all_lines) < LEAST:
    sys.exit(f"coverage: {percent(run, all_lines):.1f} % of the lines are run; {LEAST:.0f} % must be")
