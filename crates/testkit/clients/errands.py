"""The Python SDK as a client that a test sends on errands: a line of JSON in is a request, a line of JSON out is what came of
it. `python errands.py '{"era": "modern", "url": ..., "token": ...}'`, or with "command" and "environment" instead of a URL."""

import asyncio
import json
import sys

import httpx2
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

# The newer one is found out by asking, as hosts do it; the test looks at what came of that.
MODES = {"legacy": "legacy", "modern": "auto"}


async def consent(_context, _params):
    return ElicitResult(action="accept", content={"agreed": True})


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def run(client, errand):
    match errand["do"]:
        case "connect":
            return {"revision": client.protocol_version, "capabilities": plain(client.server_capabilities)}
        case "tools":
            return {"tools": [tool.name for tool in (await client.list_tools()).tools]}
        case "call":
            heard = []

            async def progress(done, total, message):
                heard.append({"progress": done, "message": message})

            asked = errand.get("progress", False)
            result = await client.call_tool(
                errand["name"], errand["arguments"], progress_callback=progress if asked else None
            )
            return {**plain(result), "progress": heard}
        case "read":
            return plain(await client.read_resource(errand["uri"]))


async def serve(client):
    lines = asyncio.get_running_loop()
    while line := await lines.run_in_executor(None, sys.stdin.readline):
        try:
            answer = {"ok": await run(client, json.loads(line))}
        except MCPError as error:
            answer = {"error": plain(error.error)}
        print(json.dumps(answer), flush=True)


async def main():
    to = json.loads(sys.argv[1])
    options = {"mode": MODES[to["era"]], "elicitation_callback": consent}
    if "command" in to:
        command, *arguments = to["command"]
        server = StdioServerParameters(command=command, args=arguments, env=to["environment"])
        async with Client(server, **options) as client:
            await serve(client)
    else:
        headers = {"Authorization": f"Bearer {to['token']}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            async with Client(streamable_http_client(to["url"], http_client=http), **options) as client:
                await serve(client)


asyncio.run(main())
