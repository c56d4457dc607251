"""Talks to `toolscout serve` with the official MCP client over stdio.

The index at --index holds the sample catalogue; in the end it is rebuilt from
--other under the running server. The client checks every reply against the
protocol's models and structuredContent against the tool's outputSchema.

usage: mcp_client.py --binary FILE --home DIR --index DIR --other FILE --mode MODE
MODE: legacy (initialize), auto (server/discover), 2026-07-28 (no handshake)
"""

import argparse
import asyncio
import json
import subprocess

from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

NEWEST = "2026-07-28"
INVALID_PARAMS = -32602
TOOL = "discover_tools"
BLOCK = "<tool_assistant>\nserver: {}\ntool: {}\n</tool_assistant>"
N_CHECKS = 0


def check(holds, what):
    global N_CHECKS
    N_CHECKS += 1
    if not holds:
        raise AssertionError(what)


def equal(found, wanted, what):
    check(found == wanted, f"{what}: {found!r}, expected {wanted!r}")


async def refused(call, what):
    """The call fails as a protocol error: bad parameters."""
    try:
        result = await call
    except MCPError as error:
        equal(error.code, INVALID_PARAMS, what)
        return error.message
    raise AssertionError(f"{what}: answered with {result}")


class Peer:
    """A connected client and what is asked of it again and again."""

    def __init__(self, client, options):
        self.client = client
        self.options = options

    async def call(self, **arguments):
        return await self.client.call_tool(TOOL, arguments)

    async def reply(self, **arguments):
        """Structured content of a call that must succeed."""
        result = await self.call(**arguments)
        check(not result.is_error, f"{arguments}: {result.content}")
        reply = result.structured_content
        text = result.content[0].text
        check(all(one["name"] in text for one in reply["matches"]), f"{arguments}: {text}")
        budget = arguments.get("max_bytes", 16_384)
        check(sent_bytes(result) <= budget, f"{arguments}: {sent_bytes(result)} bytes")
        for request in range(len(reply["requests"])):
            ranks = [one["rank"] for one in reply["matches"] if one["request"] == request]
            check(ranks == sorted(ranks), f"{arguments}: ranks {ranks}")
        return reply

    async def names(self, **arguments):
        return [one["name"] for one in (await self.reply(**arguments))["matches"]]

    async def failure(self, what, **arguments):
        """Text of a call that must fail as a result the model sees."""
        result = await self.call(**arguments)
        check(result.is_error and result.structured_content is None, f"{arguments}: {result}")
        check(what in result.content[0].text, f"{arguments}: {result.content[0].text}")


def sent_bytes(result):
    frame = {
        "resultType": "complete",
        "content": [{"type": "text", "text": result.content[0].text}],
        "structuredContent": result.structured_content,
        "isError": False,
    }
    return len(json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode())


async def opening(peer):
    client, mode = peer.client, peer.options.mode
    if mode == "legacy":
        check(client.protocol_version < NEWEST, f"legacy got {client.protocol_version}")
    else:
        equal(client.protocol_version, NEWEST, "version")
    if mode != NEWEST:  # without a handshake the server cannot introduce itself
        equal(client.server_info.name, "toolscout", "server name")
        check(TOOL in client.instructions, client.instructions)
        check(client.server_capabilities.tools is not None, "no capability `tools`")
        check(client.server_capabilities.prompts is not None, "no capability `prompts`")


async def lists(peer):
    client = peer.client
    listed = await client.list_tools()
    equal([tool.name for tool in listed.tools], [TOOL], "tools")
    check(listed.next_cursor is None, "a second page of tools")
    tool = listed.tools[0]
    equal(tool.input_schema["type"], "object", "inputSchema")
    equal(tool.output_schema["type"], "object", "outputSchema")
    check(tool.annotations.read_only_hint, "not read-only")
    again = await client.list_tools(cache_mode="bypass")
    equal(again, listed, "the second list")
    equal((await client.list_tools(cursor="")).tools, listed.tools, "the empty cursor")
    await refused(client.list_tools(cursor="x"), "tools/list with a bad cursor")
    if client.protocol_version == NEWEST:
        check(listed.ttl_ms > 0 and listed.cache_scope == "public", f"{listed}")

    prompts = (await client.list_prompts()).prompts
    equal([prompt.name for prompt in prompts], ["tool_assistant"], "prompts")
    prompt = await client.get_prompt("tool_assistant")
    text = prompt.messages[0].content.text
    check("<tool_assistant>" in text and TOOL in text, text)
    await refused(client.get_prompt("nothing"), "an unknown prompt")
    return tool


async def requests(peer):
    best = "github__create_issue"
    reply = await peer.reply(request=BLOCK.format("GitHub", "create an issue in a repository"))
    equal(reply["matches"][0]["name"], best, "block")
    equal(len(reply["matches"]), 3, "default top_k")
    equal(reply["requests"][0]["server"], "GitHub", "echo")
    first = reply["matches"][0]
    equal((first["server"], first["tool"]), ("github", "create_issue"), "its parts")
    equal(first["input_schema"]["type"], "object", "schema")
    check(first["description"], "no description")
    for one in reply["matches"]:
        low, high = sorted([one["server_score"], one["tool_score"]])
        check(0 <= low and high <= 1.000001, f"{one}")
        check(abs(one["dense_score"] - low * high * high) < 1e-6, f"formula: {one}")

    fields = {"server": "GitHub", "tool": "create an issue in a repository"}
    equal((await peer.reply(**fields))["matches"], reply["matches"], "the same as fields")
    equal((await peer.names(request="open a bug report in my GitHub repository"))[0], best, "words")
    equal((await peer.names(request="```xml\n" + BLOCK.format("weather", "forecast")))[0],
          "weather__get_forecast", "in a code fence")

    two = BLOCK.format("maps", "driving directions") + "\n" + BLOCK.format("email", "send a mail")
    reply = await peer.reply(request=two, top_k=1)
    equal([(one["request"], one["name"]) for one in reply["matches"]],
          [(0, "maps__routes_directions"), (1, "mail__send_email")], "two blocks")

    reply = await peer.reply(tool="refund a payment")
    equal(reply["matches"][0]["name"], "billing__refund_payment", "tool alone")
    equal(reply["matches"][0]["server_score"], None, "no server, no server score")
    reply = await peer.reply(server="weather", top_k=20)
    equal({one["server"] for one in reply["matches"]}, {"weather"}, "server alone")
    equal((await peer.names(tool="電車の遅延情報", server="鉄道", top_k=1))[0].split("__")[0],
          "densha-annai", "Japanese")
    long = "x " * 100_000 + BLOCK.format("GitHub", "create an issue") + " y" * 100_000
    equal((await peer.names(request=long))[0], best, "a block in 400 kB of chat")


async def knobs(peer):
    fields = {"server": "GitHub", "tool": "work with issues"}
    twenty = await peer.names(**fields, top_k=20, max_bytes=1_000_000)
    equal(len(set(twenty)), 20, "top_k 20")
    equal(await peer.names(**fields, top_k=1), twenty[:1], "top_k 1")
    equal(await peer.names(**fields, top_k="4"), twenty[:4], "top_k as text")
    for one in (await peer.reply(**fields, detail="names"))["matches"]:
        check(not {"description", "input_schema"} & one.keys(), f"{one}")
    for one in (await peer.reply(**fields, detail="summary"))["matches"]:
        check(one["description"] and "input_schema" not in one, f"{one}")
    excluded = await peer.names(**fields, exclude=twenty[:2], top_k=3)
    equal(excluded, twenty[2:5], "exclude")
    await paging(peer, {**fields, "top_k": 20, "max_bytes": 4_000}, twenty)
    await paging(peer, {**fields, "top_k": 20, "max_bytes": 1_000}, twenty)
    await paging(peer, {**fields, "top_k": 20, "max_bytes": 1_200, "detail": "names"}, twenty)
    await peer.failure("use at least", **fields, max_bytes=200)


async def paging(peer, arguments, wanted):
    """Follows the cursor to the end; every page is in budget (see `reply`)."""
    names, cursor, n_pages = [], "", 0
    while cursor is not None:
        page = await peer.reply(**arguments, cursor=cursor)
        check(page["matches"], f"{arguments}: an empty page")
        names += [one["name"] for one in page["matches"]]
        equal(page["omitted"], len(wanted) - len(names), "omitted")
        cursor = page.get("next_cursor")
        n_pages += 1
    equal(names, wanted, f"{arguments}")
    check(n_pages > 1, f"{arguments}: everything on one page")


async def failures(peer):
    for what, arguments in [
        ("top_k", {"tool": "x", "top_k": 0}),
        ("top_k", {"tool": "x", "top_k": 21}),
        ("top_k", {"tool": "x", "top_k": 2.5}),
        ("max_bytes", {"tool": "x", "max_bytes": -1}),
        ("detail", {"tool": "x", "detail": "all"}),
        ("exclude", {"tool": "x", "exclude": [1]}),
        ("request", {"request": 7}),
        ("querry", {"querry": "x"}),
        ("not both", {"request": "x", "tool": "y"}),
        ("tool_assistant", {}),
        ("tool_assistant", {"request": " "}),
        ("tool_assistant", {"request": BLOCK.format("", "")}),
    ]:
        await peer.failure(what, **arguments)
    await refused(peer.client.call_tool("no_such_tool", {}), "an unknown tool")
    await refused(peer.call(tool="x", cursor="x"), "a bad cursor")
    cut = await peer.reply(tool="list issues", top_k=20, max_bytes=3_000)
    await refused(peer.call(tool="other", cursor=cut["next_cursor"]), "a cursor of another call")


async def at_once(peer):
    asked = {
        "create an invoice": "billing__create_invoice",
        "current weather": "weather__get_current_weather",
        "merge pdf files": "pdf-tools__merge_pdfs",
        "read a file": "filesystem__read_file",
    }
    wanted = list(asked.items()) * 5
    found = await asyncio.gather(*(peer.names(tool=tool, top_k=1) for tool, _ in wanted))
    equal(found, [[name] for _, name in wanted], "twenty calls at once")


async def rebuilt(peer, tool):
    """Another index in the same place, while the server runs."""
    before = await peer.reply(tool="list issues", top_k=20, max_bytes=3_000)
    options = peer.options
    subprocess.run(
        [options.binary, "--quiet", "index", "build", "--from", options.other,
         "--out", options.index],
        env={"TOOLSCOUT_HOME": options.home}, check=True, stdout=subprocess.DEVNULL, timeout=300,
    )
    with open(options.other, encoding="utf-8") as file:
        servers = {server["name"] for server in json.load(file)["servers"]}
    reply = await peer.reply(tool="list issues", top_k=20, max_bytes=1_000_000)
    equal({one["server"] for one in reply["matches"]}, servers, "servers of the new index")
    message = await refused(
        peer.call(tool="list issues", top_k=20, max_bytes=3_000, cursor=before["next_cursor"]),
        "a cursor of the index before",
    )
    check("generation" in message, message)
    listed = (await peer.client.list_tools(cache_mode="bypass")).tools
    equal([one.name for one in listed], [TOOL], "tools after the rebuild")
    check(listed[0].description != tool.description, "the description names the old index")


async def session(options):
    server = StdioServerParameters(
        command=options.binary,
        args=["--index", options.index, "serve"],
        env={"TOOLSCOUT_HOME": options.home},
    )
    async with Client(server, mode=options.mode, read_timeout_seconds=120) as client:
        peer = Peer(client, options)
        await opening(peer)
        tool = await lists(peer)
        await requests(peer)
        await knobs(peer)
        await failures(peer)
        await at_once(peer)
        await rebuilt(peer, tool)
        print(f"{options.mode}: {client.protocol_version}, {N_CHECKS} checks")


def main():
    parser = argparse.ArgumentParser()
    for name in ["--binary", "--home", "--index", "--other", "--mode"]:
        parser.add_argument(name, required=True)
    asyncio.run(asyncio.wait_for(session(parser.parse_args()), timeout=300))


main()
