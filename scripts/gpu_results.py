#!/usr/bin/env python3
"""Results of cohom-bench on a device: compares their bits with the host's, and makes tables.

usage: gpu_results.py compare HOST.json DEVICE.json   exit status 1 when a row has other bits
       gpu_results.py table DEVICE.json               a table in Markdown
       gpu_results.py kernels KERNELS.json            the same of what device_bench --json says
"""

import json
import sys


def rows_of(path):
    with open(path) as file:
        return json.load(file)["results"]


def key_of(row):
    return row["codec"], row["algorithm_given"], row["bytes"]


def compare(host_path, device_path):
    hosts = {key_of(row): row for row in rows_of(host_path)}
    wrong = 0
    compared = 0
    for row in rows_of(device_path):
        host = hosts.get(key_of(row))
        if host is None:
            print(f"{key_of(row)}: the host has no such row")
            wrong += 1
            continue
        compared += 1
        if row["result_hash"] != host["result_hash"] or not row["identical_across_ranks"]:
            print(f"{key_of(row)}: {row['result_hash']} instead of {host['result_hash']}")
            wrong += 1
    print(f"{compared} rows compared, {wrong} wrong")
    return 0 if compared and not wrong else 1


def table(path):
    rows = rows_of(path)
    with open(path) as file:
        document = json.load(file)
    memory = rows[0]["memory"] if rows else "?"
    transport = rows[0]["transport"] if rows else "?"
    print(f"## {document['ranks']} ranks, transport {transport}, {memory}\n")
    print("`" + document["command"] + "`\n")
    print("| codec | algorithm | MiB | runs on | path | ms, median (least) | native ms "
          "| wire KiB a rank |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        time = row["time_s"]
        ms = f"{time['median'] * 1e3:.3f} ({time['min'] * 1e3:.3f})" if time else "-"
        native = row["native_time_s"]
        native_ms = f"{native['median'] * 1e3:.3f}" if native else "-"
        wire = row["wire_bytes_per_rank"]
        wire_kib = f"{wire / 1024:.0f}" if wire is not None else "-"
        print(f"| `{row['codec']}` | {row['algorithm']} | {row['bytes'] / 2**20:g} "
              f"| {row['runs_on']} | {row['path']} | {ms} | {native_ms} | {wire_kib} |")
    return 0


def kernels(path):
    with open(path) as file:
        document = json.load(file)
    print(f"## Kernels: {document['device']}, {document['mebibytes']} MiB of f32\n")
    print(f"Copies on the device: {document['copy_bytes_per_second'] / 1e9:.0f} GB/s, bytes read "
          "and written.")
    print("A floor is the time in which it copies as many bytes as the kernel must read and "
          "write.\n")
    print("| kernel | ms a GiB | floor | share of copy speed |")
    print("|---|---|---|---|")
    for row in document["rows"]:
        print(
            f"| {row['kernel']} | {row['ms_per_gib']:.3f} | {row['floor_ms_per_gib']:.3f} "
            f"| {row['share_of_copy']:.2f} |"
        )
    return 0


def main(arguments):
    commands = {"compare": (compare, 2), "table": (table, 1), "kernels": (kernels, 1)}
    if (not arguments or arguments[0] not in commands
            or len(arguments) - 1 != commands[arguments[0]][1]):
        print(__doc__, file=sys.stderr)
        return 2
    return commands[arguments[0]][0](*arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
