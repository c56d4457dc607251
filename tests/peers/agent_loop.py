"""An agent's loop with the official MCP client: discover, then call, on reference servers.

What comes back through `toolscout serve --config` must equal what the servers say when they are called directly.

usage: agent_loop.py --binary FILE --home DIR --config FILE --folder DIR
FOLDER: what the servers of the configuration work in; DIR/repo is made a git repository
"""

import argparse
import asyncio
import json
import os
import pathlib
import subprocess

from mcp import Client, StdioServerParameters

MODES = ["legacy", "auto", "2026-07-28"]
PATIENCE = 60  # seconds, on a busy machine
N_CHECKS = 0


def equal(found, wanted, what):
    global N_CHECKS
    N_CHECKS += 1
    if found != wanted:
        raise AssertionError(f"{what}: {found!r}, expected {wanted!r}")


def shown(result):
    """All of a result but what the SDK adds for the era."""
    return {key: value for key, value in result.model_dump(by_alias=True).items() if key not in ("resultType", "_meta")}


class Agent:
    def __init__(self, client, servers):
        self.client, self.servers = client, servers

    async def find(self, server, tool, wanted):
        """Asks again, as the reply says, while servers are not listed yet."""
        for _ in range(PATIENCE):
            reply = await self.client.call_tool("discover_tools", {"server": server, "tool": tool, "top_k": 5})
            found = reply.structured_content
            names, note = [one["name"] for one in found["matches"]], found["requests"][0].get("note", "")
            if wanted in names or "not listed yet" not in note:
                break
            await asyncio.sleep(1)
        equal(wanted in names, True, f"{wanted} is among {names}")
        return wanted

    async def call(self, name, arguments):
        return await self.client.call_tool("call_tool", {"name": name, "arguments": arguments})

    async def both(self, server, tool, arguments):
        """Through the router and directly; the results must be the same."""
        routed = await self.call(f"{server}__{tool}", arguments)
        async with Client(self.servers[server], mode="legacy") as direct:
            plain = await direct.call_tool(tool, arguments)
        equal(shown(routed), shown(plain), f"{server}/{tool}")
        return routed


async def loop(agent, folder, run):
    listed = [tool.name for tool in (await agent.client.list_tools()).tools]
    equal(listed, ["discover_tools", "call_tool"], "tools")

    file, text = folder / f"{run}.txt", f"written by {run}: ü 漢\n"
    name = await agent.find("filesystem", "write a file", "filesystem__write_file")
    written = await agent.call(name, {"path": str(file), "content": text})
    equal((written.is_error, file.read_text(encoding="utf-8")), (False, text), "the file")
    await agent.find("filesystem", "read a text file", "filesystem__read_text_file")
    read = await agent.both("filesystem", "read_text_file", {"path": str(file)})
    equal(read.content[0].text, text, "what was read")
    missing = await agent.both("filesystem", "read_text_file", {"path": str(folder / "none")})
    equal(missing.is_error, True, "a file that is not there")
    outside = await agent.both("filesystem", "read_text_file", {"path": "/etc/hostname"})
    equal(outside.is_error, True, "a file outside of the folder")

    name = await agent.find("memory", "create entities", "memory__create_entities")
    entity = {"name": run, "entityType": "run", "observations": ["it works"]}
    await agent.call(name, {"entities": [entity]})
    found = await agent.both("memory", "search_nodes", {"query": run})
    equal(run in found.content[0].text, True, "the entity")

    await agent.find("git", "show the commit log", "git__git_log")
    log = await agent.both("git", "git_log", {"repo_path": str(folder / "repo")})
    equal("the first one" in log.content[0].text, True, "the log")
    await agent.both("git", "git_status", {"repo_path": str(folder / "repo")})

    await agent.find("time", "convert time between zones", "time__convert_time")
    zones = {"source_timezone": "Asia/Tokyo", "time": "16:30", "target_timezone": "Asia/Kolkata"}
    time = await agent.both("time", "convert_time", zones)
    equal("13:00" in time.content[0].text, True, "the time")

    bad = await agent.call("time__convert_time", {"time": 7})
    equal(bad.is_error, True, "bad arguments")
    for said in ["/time: ", "source_timezone", "target_timezone"]:
        equal(said in bad.content[0].text, True, f"{said} in {bad.content[0].text}")


def repository(folder):
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    folder.mkdir(exist_ok=True)
    for command in [["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "the first one"]]:
        subprocess.run(git + command, check=True)


async def main(options):
    folder = pathlib.Path(options.folder)
    repository(folder / "repo")
    entries = json.loads(pathlib.Path(options.config).read_text())["mcpServers"]
    servers = {
        name: StdioServerParameters(command=entry["command"], args=entry.get("args", []), env=entry.get("env"))
        for name, entry in entries.items()
    }
    arguments = ["--index", f"{options.home}/index", "serve", "--config", options.config, "--model", "stand-in"]
    env = {"TOOLSCOUT_HOME": options.home}
    over_stdio = StdioServerParameters(command=options.binary, args=arguments, env=env)
    for mode in MODES:
        async with Client(over_stdio, mode=mode, read_timeout_seconds=120) as client:
            await loop(Agent(client, servers), folder, f"stdio-{mode}")
    with subprocess.Popen(
        [options.binary, *arguments, "--http", "127.0.0.1:0"], stderr=subprocess.PIPE, env={**os.environ, **env}, text=True
    ) as serve:
        try:
            said = next(line for line in serve.stderr if "serving at " in line)
            for mode in MODES:
                async with Client(said.split()[-1], mode=mode, read_timeout_seconds=120) as client:
                    await loop(Agent(client, servers), folder, f"http-{mode}")
        finally:
            serve.terminate()
    equal(serve.returncode, 0, "how the service ended")
    print(f"{N_CHECKS} checks")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for flag in ["--binary", "--home", "--config", "--folder"]:
        parser.add_argument(flag, required=True)
    asyncio.run(main(parser.parse_args()))
