#!/usr/bin/env python3
"""The official Python SDK as a client of Longhouse: two participants, every way in, both eras of the protocol.

    python_client.py SCENE.json        (`cargo xtask test` makes the scene: xtask/src/mcp_clients.rs)

One line per check, "ok - …" or "not ok - …"; ends with 1 if one failed. Every wait has a limit and nothing sleeps.
"""

import asyncio
import base64
import json
import subprocess
import sys
import urllib.parse
import warnings

import httpx2
from mcp import MCPError
from participants import ERAS, LIMIT_S, ORCHESTRATOR, REVIEW, Checks, Complaints, Participant

# A still house is a data directory that no server has open: the first client opens it, and lets the second in.
WAYS = ["http", "stdio to the server", "stdio to the data directory", "stdio to a still house"]
# An older era needs the older calls, which the SDK calls deprecated.
warnings.simplefilter("ignore")


async def tools_and_prompts(checks, a, b):
    checks.that(a.client.protocol_version == ERAS[a.era], f"speaks {ERAS[a.era]}", a.client.protocol_version)
    checks.that(a.client.server_info.name == "longhouse", "says its name", a.client.server_info)
    tools = {tool.name: tool for tool in (await a.client.list_tools()).tools}
    checks.that("shared_context" in tools, "lists shared_context", list(tools))
    checks.that("action" in tools["shared_context"].input_schema["properties"], "its schema has the action")
    prompts = [prompt.name for prompt in (await a.client.list_prompts()).prompts]
    checks.that(prompts == ["shared_context_guide"], "lists the guide", prompts)
    guide = (await a.client.get_prompt("shared_context_guide")).messages[0].content.text
    checks.that("shared_context" in guide and len(guide) > 200, "the guide tells about the tool", guide)


async def two_writers(checks, a, b, key):
    await a.context("write", key=key, value="from the orchestrator")
    seen = await b.context("read", key=key)
    right = seen["value"] == "from the orchestrator" and seen["written_by"] == ORCHESTRATOR
    checks.that(right, "the second sees what the first wrote, and who", seen)
    await b.context("write", key=key, value="from the review")
    seen = await a.context("read", key=key)
    checks.that(seen["written_by"] == REVIEW and seen["version"] == 2, "the first sees the second's answer", seen)
    answer, _, structured = await a.tool("shared_context", action="list_keys")
    checks.that(answer == structured, "structured content is the text's JSON", structured)
    checks.that(key in [entry["key"] for entry in answer["keys"]], "both are in one list", answer)


async def errors(checks, a, b, key):
    table = [
        ({"action": "read", "key": key + "_absent"}, "KEY_NOT_FOUND"),
        ({"action": "read", "key": "Not A Key"}, "INVALID_KEY"),
        ({"action": "write", "key": key, "value": "x", "written_by": "somebody"}, "INVALID_REQUEST"),
        ({"action": "write", "key": key, "value": "x" * 4001}, "VALUE_TOO_LARGE"),
        ({"action": "sing"}, "INVALID_REQUEST"),
    ]
    for arguments, code in table:
        answer, is_error, structured = await a.tool("shared_context", **arguments)
        right = is_error and answer["error"]["code"] == code and answer["error"]["message"] and structured == answer
        checks.that(right, f"{code} is a result with isError", (is_error, answer, structured))
    try:
        checks.that(False, "an unknown tool is an error of the protocol", await a.tool("no_such_tool"))
    except MCPError as error:
        checks.that(error.code == -32602, "an unknown tool is an error of the protocol", error)


async def resources(checks, a, b, key):
    await a.context("write", key=key, value="a resource")
    listed, cursor = [], None
    while True:
        page = await b.client.list_resources(cursor=cursor)
        listed += [str(resource.uri) for resource in page.resources]
        cursor = page.next_cursor
        if cursor is None:
            break
    checks.that(a.uri(key) in listed, "the entry is listed as a resource", listed)
    checks.that("a resource" in await b.resource(key), "and can be read", "other text")
    templates = [template.uri_template for template in (await a.client.list_resource_templates()).resource_templates]
    wanted = "longhouse://sessions/{session}/context/{key}"
    checks.that(any(template.count("{") >= 1 for template in templates), f"there is a template like {wanted}", templates)
    for uri in [a.uri(key + "_absent"), "longhouse://sessions/another/context/" + key, "test://nothing"]:
        try:
            checks.that(False, f"{uri} is not found", await a.client.read_resource(uri))
        except MCPError as error:
            expected = -32602 if a.era == "auto" else -32002
            checks.that(error.code == expected, f"{uri} is not found", error)


async def subscriptions(checks, a, b, key):
    async with b.subscribed(key) as next_notice:
        await a.context("write", key=key + "_other", value="not subscribed")
        await a.context("write", key=key, value="first")
        noticed = await next_notice()
        checks.that(noticed == b.uri(key), "a subscription to a key that did not exist fires on its first write", noticed)
        checks.that("first" in await b.resource(key), "and the resource has the new value", "an older one")
        await a.context("write", key=key, value="second")
        checks.that(await next_notice() == b.uri(key), "it fires on the next write", noticed)
        checks.that("second" in await b.resource(key), "and again the value is not a remembered one", "an older one")
        await a.context("delete", key=key)
        checks.that(await next_notice() == b.uri(key), "it fires when the key is deleted", noticed)
    await b.context("write", key=key, value="after")
    checks.that("after" in await b.resource(key), "the connection serves on after the subscription", "another value")


async def lists_of_resources(checks, a, b, key):
    async with b.told_of_lists() as next_notice:
        await a.context("write", key=key, value="new")
        await next_notice()
        listed = [str(resource.uri) for resource in (await b.client.list_resources()).resources]
        checks.that(b.uri(key) in listed, "a new key is told as a change of the list, which then has it", listed)


async def items(checks, writer, library):
    """The five tools of agents: lasting items in a scope of their own, and one-way publishing."""
    key = f"a draft by python, {ERAS[writer.era]}"
    for agent, verbs in [(writer, "list read write delete publish"), (library, "list read write delete")]:
        names = {tool.name for tool in (await agent.client.list_tools()).tools}
        wanted = {f"workspace_{verb}" for verb in verbs.split()}
        checks.that(names == {"shared_context", *wanted}, f"{agent.name} is offered to {verbs} items", names)
    table = [
        (writer, "workspace_write", {"key": key, "value": "by hand"}, None),
        (writer, "workspace_read", {"key": key}, None),
        (library, "workspace_read", {"key": key}, "ITEM_NOT_FOUND"),
        (writer, "workspace_publish", {"key": key, "target_agent_id": library.id}, None),
        (writer, "workspace_publish", {"key": key, "target_agent_id": library.id}, "ITEM_EXISTS"),
        (library, "workspace_publish", {"key": key, "target_agent_id": writer.id}, "FORBIDDEN"),
        (library, "workspace_read", {"key": key}, None),
        (writer, "workspace_delete", {"key": key}, None),
        (writer, "workspace_read", {"key": key}, "ITEM_NOT_FOUND"),
        (library, "workspace_delete", {"key": key}, None),
        (library, "workspace_list", {"scope": "user-usr_owner"}, "INVALID_REQUEST"),
    ]
    for agent, tool, arguments, code in table:
        answer, is_error, _ = await agent.tool(tool, **arguments)
        right = is_error == (code is not None) and answer.get("error", {}).get("code") == code
        checks.that(right, f"{agent.name}: {tool} answers {code or 'well'}", answer)


async def items_as_resources(checks, writer, library):
    key = f"notes by python, {ERAS[writer.era]}"
    uri = "longhouse://items/" + urllib.parse.quote(key, safe="")
    async with writer.subscribed_to(uri) as next_notice:
        await writer.tool("workspace_write", key=key, value="by hand")
        noticed = await next_notice()
        checks.that(noticed == uri, "a subscription to an item fires", noticed)
    listed = [str(resource.uri) for resource in (await writer.client.list_resources()).resources]
    checks.that(uri in listed, "an item is listed as a resource", listed)
    text = (await writer.client.read_resource(uri)).contents[0].text
    checks.that("by hand" in text, "and read", text)
    try:
        checks.that(False, "but not by the other agent", await library.client.read_resource(uri))
    except MCPError as error:
        checks.that(error.code in (-32602, -32002), "but not by the other agent", error)


async def a_token_without_a_session(checks, scene):
    person = Participant(scene, "http", "auto", "user", token=scene["user_token"])
    async with person.connected():
        fields = {"session": scene["session"], "action": "write", "key": "from_a_person", "value": "hello"}
        answer, is_error, _ = await person.tool("shared_context", **fields)
        right = not is_error and answer["written_by"] == f"user:usr_{scene['user']}"
        checks.that(right, "names its session in the call", answer)
        answer, is_error, _ = await person.tool("shared_context", action="list_keys")
        right = is_error and answer["error"]["code"] == "INVALID_REQUEST"
        checks.that(right, "is told to name a session where it does not", answer)


async def a_stranger(checks, scene):
    try:
        async with Participant(scene, "http", "auto", "stranger", token="not-a-token").connected() as stranger:
            checks.that(False, "does not get in", await stranger.client.list_tools())
    except ExceptionGroup as problem:  # the SDK hides the status
        checks.that(True, "does not get in", problem)
    answer = httpx2.post(scene["url"] + "/mcp", json={}, headers={"Authorization": "Bearer not-a-token"})
    right = answer.status_code == 401 and answer.headers["WWW-Authenticate"].startswith("Bearer")
    checks.that(right, "is told 401 and how to do better", (answer.status_code, answer.headers))


async def a_revoked_token(checks, scene):
    def house(*words):
        command = [scene["binary"], *words, "--data-dir", scene["data_dir"]]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=LIMIT_S).stdout.strip()

    who = ["--session", scene["session"], "--participant", "subagent:guest"]
    token = house("token", "create", "--user", scene["user"], *who)
    claims = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    async with Participant(scene, "http", "auto", "subagent:guest", token=token).connected() as guest:
        async with guest.subscribed("nobody_writes_this") as next_notice:
            house("token", "revoke", claims["jti"])
            try:
                checks.that(False, "ends its subscription", await next_notice())
            except StopAsyncIteration:
                checks.that(True, "ends its subscription")
        try:
            checks.that(False, "calls nothing any more", await guest.context("list_keys"))
        except MCPError:
            checks.that(True, "calls nothing any more")


async def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        scene = json.load(file)
    checks, complaints = Checks(scene), Complaints()
    for way in WAYS:
        for era, version in ERAS.items():
            key = f"python_{way}_{era}".replace(" ", "_")
            await checks.story(f"python, {way}, {version}", two_participants, scene, way, era, key, limit_s=6 * LIMIT_S)
    checks.label = "python"
    checks.that(not complaints.heard, "the SDK has nothing to complain about", complaints.heard)
    for era, version in ERAS.items():
        await checks.story(f"python, agents, {version}", two_agents, scene, era, limit_s=3 * LIMIT_S)
    await checks.story("python, a user's token", a_token_without_a_session, scene)
    await checks.story("python, a stranger", a_stranger, scene)
    await checks.story("python, a revoked token", a_revoked_token, scene)
    sys.exit(1 if checks.failed else 0)


async def two_participants(checks, scene, way, era, key):
    async with Participant(scene, way, era, ORCHESTRATOR).connected() as a:
        async with Participant(scene, way, era, REVIEW).connected() as b:
            label = checks.label
            await checks.story(label, tools_and_prompts, a, b)
            await checks.story(label, two_writers, a, b, key + "_w")
            await checks.story(label, errors, a, b, key + "_e")
            await checks.story(label, resources, a, b, key + "_r")
            await checks.story(label, subscriptions, a, b, key + "_s")
            await checks.story(label, lists_of_resources, a, b, key + "_l")


async def two_agents(checks, scene, era):
    async with Participant(scene, "http", era, "writer", agent=True).connected() as writer:
        async with Participant(scene, "http", era, "library", agent=True).connected() as library:
            label = checks.label
            await checks.story(label, items, writer, library)
            await checks.story(label, items_as_resources, writer, library)


if __name__ == "__main__":
    asyncio.run(main())
