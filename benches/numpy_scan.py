"""Measures numpy's scan of the matrices that a ranking reads: each times its query.

The other side of `cargo bench --bench size`, "rank". Needs numpy;
OPENBLAS_NUM_THREADS=1 makes it one thread, as `rank` is.

usage: numpy_scan.py INDEX_DIR    prints medians, µs
"""

import json
import pathlib
import statistics
import sys
import time

import numpy

N_RUNS = 2000
SERVER_TEXTS = ["server_description", "server_summary", "server_digest"]


def matrices(index):
    folder = index / (index / "CURRENT").read_text().strip()
    raw = (folder / "vectors.safetensors").read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])

    def matrix(name, dtype=numpy.float32):
        begin, end = header[name]["data_offsets"]
        numbers = numpy.frombuffer(raw[start + begin : start + end], dtype)
        return numbers.reshape(header[name]["shape"])

    owner = matrix("tool_server", numpy.uint32)
    return [matrix(name) for name in SERVER_TEXTS], matrix("tool_text"), owner


def median_us(scan):
    times = []
    for _ in range(N_RUNS):
        begin = time.thread_time_ns()
        scan()
        times.append(time.thread_time_ns() - begin)
    return round(statistics.median(times) / 1000, 1)


def ranked(servers, tools, owner, server, tool):
    """The formula over all tools, and the best twenty: a ranking without stages."""
    of_server = numpy.maximum(numpy.max([text @ server for text in servers], axis=0), 0)[owner]
    of_tool = numpy.maximum(tools @ tool, 0)
    scores = of_server * of_tool * numpy.maximum(of_server, of_tool)
    best = numpy.argpartition(-scores, 20)[:20]
    return best[numpy.argsort(-scores[best])]


def main():
    servers, tools, owner = matrices(pathlib.Path(sys.argv[1]))
    server, tool, joint = (numpy.array(tools[row]) for row in (0, 1, 2))

    def scan():
        return [text @ server for text in servers], tools @ tool, tools @ joint

    print(f"numpy {numpy.__version__}, {tools.shape[0]} tools, {servers[0].shape[0]} servers")
    print(f"one pass over the tools: {median_us(lambda: tools @ tool)}")
    print(f"all that scout reads: {median_us(scan)}")
    paper = median_us(lambda: ranked(servers[:2], tools, owner, server, tool))
    print(f"all that the paper reads, ranked: {paper}")


main()
