"""Two participants by the official Python SDK: how each connects, and how results are told. The stories are in python_client.py."""

import asyncio
import contextlib
import json
import logging

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ResourceListChangedNotification, ResourceUpdatedNotification

LIMIT_S = 20
ORCHESTRATOR, REVIEW = "orchestrator", "subagent:review:1"
ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}


class Checks:
    """Says each result at once and remembers whether all were good."""

    def __init__(self, scene):
        self.scene, self.label, self.failed = scene, "", False

    def that(self, holds, what, seen=""):
        self.failed |= not holds
        print(f"ok - {self.label}: {what}" if holds else f"not ok - {self.label}: {what}; seen: {seen}", flush=True)

    async def story(self, label, story, *arguments, limit_s=LIMIT_S):
        """Runs one part within the limit; what it throws is a failed check, and the other parts still run."""
        self.label = label
        try:
            async with asyncio.timeout(limit_s):
                await story(self, *arguments)
        except BaseException as problem:  # a task group wraps what went wrong in groups
            self.that(False, f"{story.__name__} comes to its end", repr(problem))


class Complaints(logging.Handler):
    """What the SDK says about us in its own log."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.heard = []
        logging.getLogger("mcp").addHandler(self)
        logging.getLogger("mcp").propagate = False

    def emit(self, record):
        self.heard.append(record.getMessage())


class Participant:
    """A connected client, and what it was told about resources in the older era."""

    def __init__(self, scene, way, era, name, token=None, agent=False):
        self.scene, self.way, self.era, self.name = scene, way, era, name
        self.id = scene["agents"][name]["id"] if agent else None
        self.token = token or (scene["agents"][name]["token"] if agent else scene["tokens"][name])
        self.updated, self.list_changed = asyncio.Queue(), asyncio.Event()

    async def hear(self, message):
        if isinstance(message, ResourceUpdatedNotification):
            self.updated.put_nowait(str(message.params.uri))
        if isinstance(message, ResourceListChangedNotification):
            self.list_changed.set()

    @contextlib.asynccontextmanager
    async def connected(self):
        async with contextlib.AsyncExitStack() as stack:
            server = StdioServerParameters(command=self.scene["binary"], args=self.arguments(), env=self.environment())
            if self.way == "http":
                headers = {"Authorization": f"Bearer {self.token}"}
                http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=LIMIT_S))
                server = streamable_http_client(self.scene["url"] + "/mcp", http_client=http)
            options = {"mode": self.era, "message_handler": self.hear, "read_timeout_seconds": LIMIT_S}
            self.client = await stack.enter_async_context(Client(server, **options))
            yield self

    def arguments(self):
        if self.way == "stdio to the server":
            return ["mcp", "--server", self.scene["url"]]
        data_dir = self.scene["data_dir" if self.way == "stdio to the data directory" else "still_data_dir"]
        who = ["--user", self.scene["user"], "--session", self.scene["session"], "--participant", self.name]
        return ["mcp", "--data-dir", data_dir, *who]

    def environment(self):
        return {"LONGHOUSE_TOKEN": self.token} if self.way == "stdio to the server" else {}

    async def tool(self, name, **arguments):
        """The answer as the text has it, whether it is an error, and the same as structured content."""
        result = await self.client.call_tool(name, arguments)
        return json.loads(result.content[0].text), result.is_error, result.structured_content

    async def context(self, action, **fields):
        answer, is_error, _ = await self.tool("shared_context", action=action, **fields)
        if is_error:
            raise RuntimeError(f"{action} answered {answer}")
        return answer

    def uri(self, key):
        return f"longhouse://sessions/{self.scene['session']}/context/{key}"

    async def resource(self, key):
        return (await self.client.read_resource(self.uri(key))).contents[0].text

    def subscribed(self, key):
        return self.subscribed_to(self.uri(key))

    @contextlib.asynccontextmanager
    async def subscribed_to(self, uri):
        """Gives a function that waits for the next notice; subscribed before the body begins."""
        if self.client.protocol_version == ERAS["auto"]:
            async with self.client.listen(resource_subscriptions=[uri]) as changes:
                async def next_notice():
                    return (await anext(changes)).uri
                yield next_notice
        else:
            await self.client.subscribe_resource(uri)
            yield self.updated.get
            await self.client.unsubscribe_resource(uri)

    @contextlib.asynccontextmanager
    async def told_of_lists(self):
        """Gives a function that waits for the notice that a list of resources changed; the older era sends it unasked."""
        if self.client.protocol_version == ERAS["auto"]:
            async with self.client.listen(resources_list_changed=True) as changes:
                yield changes.__anext__
        else:
            self.list_changed.clear()
            yield self.list_changed.wait
