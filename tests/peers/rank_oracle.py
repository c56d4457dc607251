"""Ranks with numpy what toolscout ranked, and compares.

Written from the formulas, not from the Rust code:
  s_server = max over a server's texts of cos(query, text), at least 0
  s_tool   = cos(query, tool text), at least 0
  score    = (s_server * s_tool) * max(s_server, s_tool)
Stage 1 keeps the best servers (ties: lower id) and, where asked for, adds the
owners of the best tools. Ties: higher s_tool, then lower id.

usage: rank_oracle.py FILE    exit 0: same order, scores within 1e-6
"""

import json
import sys

import numpy as np

TOLERANCE = 1e-6
# What f32 may cost a cosine; scores nearer than that may come in any order.
NOISE = 3e-7
# What f64 may cost: nearer than that is a tie, and the rules decide.
TIE = 1e-12


def cosines(rows, query):
    # Summed row by row: equal rows give equal sums, which BLAS does not promise.
    return np.maximum((rows * query).sum(axis=1), 0.0)


def best(scores, n):
    """Row numbers, highest first, lower row first where tied."""
    return np.lexsort((np.arange(len(scores)), -scores))[:n]


def stage_1(problem, server, tool, n_servers, n_owner_tools):
    scores = np.zeros(problem["n_servers"])
    for text in problem["server_texts"]:
        scores = np.maximum(scores, cosines(text, server))
    pool = list(best(scores, n_servers))
    for row in best(cosines(problem["tool_text"], tool), n_owner_tools):
        owner = problem["tool_server"][row]
        if owner not in pool:
            pool.append(owner)
    return pool, scores


def expected(problem, asked, run):
    """Rows in order and, by row, (score, s_tool, s_server or None)."""
    owners = problem["tool_server"]
    tool = np.array(asked["tool"] if asked["tool"] is not None else asked["server"])
    s_tool = cosines(problem["tool_text"], tool)
    if asked["server"] is None:
        pool, s_server, rows = [], None, np.arange(len(owners))
        score = s_tool
    else:
        server = np.array(asked["server"])
        alone = asked["tool"] is None
        width = (problem["n_servers"], 0) if alone else (run["n_servers"], run["n_owner_tools"])
        pool, of_servers = stage_1(problem, server, tool, *width)
        if alone:  # the best server that has tools
            pool = [one for one in pool if np.any(owners == one)][:1]
        rows = np.flatnonzero(np.isin(owners, pool))
        s_server = of_servers[owners] if len(owners) else np.zeros(0)
        score = (s_server * s_tool) * np.maximum(s_server, s_tool)
    order = rows[np.lexsort((rows, -s_tool[rows], -score[rows]))]
    return pool, order, score, s_tool, s_server


def near(a, b, noise):
    """Different, but by less than the noise."""
    return TIE < abs(a - b) <= noise


def may_swap(found, wanted, score, s_tool, s_server):
    if found == wanted:
        return True
    steepest = 1.0
    if s_server is not None:
        steepest = max(max(s_server[row], s_tool[row]) for row in (found, wanted))
    if near(score[found], score[wanted], 4 * NOISE * steepest**2):
        return True
    tied = abs(score[found] - score[wanted]) <= TIE
    return tied and near(s_tool[found], s_tool[wanted], NOISE)


def compare(problem, asked, run):
    """Yields what differs."""
    pool, order, score, s_tool, s_server = expected(problem, asked, run)
    if run["pool"] != [int(server) for server in pool]:
        yield f"pool {run['pool']}, expected {pool}"
    hits = run["hits"]
    if len(hits) != min(run["limit"], len(order)):
        yield f"{len(hits)} hits, expected {min(run['limit'], len(order))}"
    for place, (hit, wanted) in enumerate(zip(hits, order)):
        row = hit["tool"]
        if hit["server"] != problem["tool_server"][row]:
            yield f"place {place}: tool {row} belongs to {problem['tool_server'][row]}: {hit}"
        if row not in order:
            yield f"place {place}: tool {row} is not in the pool"
        if not may_swap(row, wanted, score, s_tool, s_server):
            yield f"place {place}: tool {row}, expected {wanted}"
        values = {"score": score[row], "dense_score": score[row], "tool_score": s_tool[row]}
        if s_server is not None:
            values["server_score"] = s_server[row]
        elif hit["server_score"] is not None:
            yield f"place {place}: s_server without a server: {hit}"
        for name, value in values.items():
            if not abs(hit[name] - value) <= TOLERANCE:
                yield f"place {place}: {name} {hit[name]}, expected {value}"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        problems = json.load(file)
    n_runs = n_hits = n_different = 0
    for problem in problems:
        dim = problem["dim"]
        problem["server_texts"] = [np.array(m).reshape(-1, dim) for m in problem["server_texts"]]
        problem["tool_text"] = np.array(problem["tool_text"]).reshape(-1, dim)
        problem["tool_server"] = np.array(problem["tool_server"], dtype=int)
        problem["n_servers"] = len(problem["server_texts"][0])
        for number, asked in enumerate(problem["asked"]):
            for run in asked["runs"]:
                n_runs += 1
                n_hits += len(run["hits"])
                for difference in compare(problem, asked, run):
                    n_different += 1
                    if n_different <= 20:
                        print(f"{problem['name']}, request {number}: {difference}")
    print(f"{len(problems)} problems, {n_runs} rankings, {n_hits} hits, {n_different} differences")
    if n_different or not n_hits:
        sys.exit(1)


main()
