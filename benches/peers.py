"""Measures what others do on the vectors of an index, in one run with our bench.

- loop: the matcher of MCP-Zero as published (xfey/MCP-Zero, MCP-zero/matcher.py):
  a cosine a pair, each vector a list that becomes an array.
- scan: numpy over whole matrices, one thread (`numpy_scan.py` has its parts).
- FastMCP: its BM25 search over the same tools, where `fastmcp` is installed.

usage: peers.py INDEX_DIR BENCH    prints medians, µs; BENCH is the program that
`cargo bench --bench steps --no-run` names, run with TOOLSCOUT_INDEX=INDEX_DIR
"""

import asyncio
import importlib.metadata
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy  # noqa: E402


def read(index):
    folder = index / (index / "CURRENT").read_text().strip()
    raw = (folder / "vectors.safetensors").read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])

    def tensor(name, dtype=numpy.float32):
        begin, end = header[name]["data_offsets"]
        return numpy.frombuffer(raw[start + begin : start + end], dtype).reshape(header[name]["shape"])

    lines = (folder / "catalog.jsonl").read_text().splitlines()
    return tensor, [json.loads(line) for line in lines]


def median_us(function, n):
    times = []
    for _ in range(n):
        begin = time.perf_counter_ns()
        function()
        times.append(time.perf_counter_ns() - begin)
    return round(statistics.median(times) / 1000, 1)


def cosine(a, b):
    a, b = numpy.array(a), numpy.array(b)
    return numpy.dot(a, b) / (numpy.linalg.norm(a) * numpy.linalg.norm(b))


def loop(tensor):
    """Stage 1 and 2 of the published matcher."""
    description = tensor("server_description").tolist()
    summary = tensor("server_summary").tolist()
    tools = tensor("tool_description").tolist()
    owner = tensor("tool_server", numpy.uint32).tolist()
    of_server = {}
    for row, server in enumerate(owner):
        of_server.setdefault(server, []).append(row)
    query = tools[0]

    def match():
        scores = []
        for server in range(len(description)):
            best = max(cosine(query, description[server]), cosine(query, summary[server]) if any(summary[server]) else 0)
            scores.append((best, server))
        found = []
        for score, server in sorted(scores, reverse=True)[:5]:
            for row in of_server.get(server, []):
                similar = cosine(query, tools[row]) if any(tools[row]) else 0
                found.append((score * similar * max(score, similar), row))
        return sorted(found, reverse=True)[:5]

    return match


def scan(tensor, servers, tools):
    texts = [tensor(name) for name in servers]
    tool_text = tensor(tools)
    owner = tensor("tool_server", numpy.uint32)
    query = numpy.array(tool_text[0])

    def rank():
        of_server = numpy.maximum(numpy.max([text @ query for text in texts], axis=0), 0)[owner]
        of_tool = numpy.maximum(tool_text @ query, 0)
        scores = of_server * of_tool * numpy.maximum(of_server, of_tool)
        best = numpy.argpartition(-scores, 5)[:5]
        return best[numpy.argsort(-scores[best])]

    return rank


def fastmcp_search(records):
    """FastMCP's own BM25 transform, asked as its search tool would be."""
    from fastmcp.server.transforms.search.bm25 import BM25SearchTransform
    from fastmcp.tools.base import Tool

    def tool(record):
        schema = record.get("input_schema") or {"type": "object", "properties": {}}
        return Tool(name=record["exposed"], description=record["description"], parameters=schema)

    tools = [tool(record) for record in records if "exposed" in record]
    search = BM25SearchTransform(max_results=5)

    def find():
        return asyncio.run(search._search(tools, "GitHub create an issue in a repository"))

    find()
    return find


def main():
    index, bench = pathlib.Path(sys.argv[1]), sys.argv[2]
    tensor, records = read(index)
    print(f"numpy {numpy.__version__}, {tensor('tool_text').shape[0]} tools", flush=True)
    print("loop, as published:", median_us(loop(tensor), 15))
    print("scan of the paper's matrices:", median_us(scan(tensor, ["server_description", "server_summary"], "tool_description"), 500))
    ours = ["server_description", "server_summary", "server_digest"]
    both = scan(tensor, ours, "tool_text")
    joint = numpy.array(tensor("tool_text")[1])
    matrix = tensor("tool_text")
    print("scan of scout's matrices:", median_us(lambda: (both(), matrix @ joint), 500))
    try:
        find = fastmcp_search(records)
        version = importlib.metadata.version("fastmcp")
        print(f"FastMCP {version}, BM25 search:", median_us(find, 50))
    except ImportError as error:
        print(f"FastMCP is not here: {error}")
    sys.stdout.flush()
    subprocess.run([bench, "--bench"], check=True, env={**os.environ, "TOOLSCOUT_INDEX": str(index)})


main()
