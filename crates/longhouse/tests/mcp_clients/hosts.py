#!/usr/bin/env python3
"""The programs that people start: the official inspector, Claude Code and Codex, each added to Longhouse as the README says.

    hosts.py SCENE.json        (`cargo xtask test` makes the scene: xtask/src/mcp_clients.rs)

Claude Code and Codex speak to an imitated model that calls the tool once; all else about them is real. They have a home of their
own that is gone afterwards. One line per check, "ok - …" or "not ok - …"; ends with 1 if one failed.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request

import imitated_models

LIMIT_S = 60
PARTICIPANT = "subagent:review:1"
failed = False


def check(holds, what, seen=""):
    global failed
    failed |= not holds
    print(f"ok - {what}" if holds else f"not ok - {what}; seen: {str(seen)[:2000]}", flush=True)


class House:
    """The running server, and a program's view of it."""

    def __init__(self, scene, home):
        self.binary, self.url, self.node = scene["binary"], scene["url"], scene["node"]
        self.modules, self.session, self.token = scene["node_modules"], scene["session"], scene["tokens"][PARTICIPANT]
        self.home = home

    def run(self, program, *arguments, **environment):
        """What came of it: its output and its exit code."""
        base = {"HOME": self.home, "PATH": os.environ["PATH"], "LONGHOUSE_TOKEN": self.token}
        command = [self.node, f"{self.modules}/{program}", *arguments]
        given = {"cwd": self.home, "env": {**base, **environment}, "stdin": subprocess.DEVNULL, "timeout": LIMIT_S}
        return subprocess.run(command, capture_output=True, text=True, **given)

    def read(self, key):
        """What the house itself says about a key."""
        request = urllib.request.Request(
            f"{self.url}/sessions/{self.session}/shared_context",
            data=json.dumps({"action": "read", "key": key}).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_S) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            return json.load(error)

    def check_written(self, who, key):
        seen = self.read(key)
        check(seen.get("written_by") == PARTICIPANT, f"{who}: the tool call of its model is in the shared context", seen)


def inspector(house, way, target, era, calls):
    """The command line of the official inspector: one process per call."""
    program = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    key = f"inspector_{way}"
    uri = f"longhouse://sessions/{house.session}/context/{key}"
    written = ["--tool-name", "shared_context", "--tool-arg", "action=write", f"key={key}", "value=by hand"]
    known = {
        "tools/list": (["--strict"], "shared_context"),
        "tools/call": (written, PARTICIPANT),
        "resources/read": (["--uri", uri], "by hand"),
        "prompts/get": (["--prompt-name", "shared_context_guide"], "shared_context"),
    }
    for call in calls:
        arguments, expected = known[call]
        options = ["--protocol-era", era, "--format", "json", "--method", call, *arguments]
        ended = house.run(program, "--cli", *options, *target)
        check(ended.returncode == 0 and expected in ended.stdout, f"inspector, {way}, {era}: {call}", ended)


def claude_code(house, way, addition):
    """Adds the server, looks whether it is connected, and lets the imitated model write."""
    who, key = f"claude code, {way}", f"from_claude_code_by_{way}"
    program = "@anthropic-ai/claude-code/cli-wrapper.cjs"
    ended = house.run(program, "mcp", "add", *addition)
    check(ended.returncode == 0, f"{who}: mcp add", ended)
    ended = house.run(program, "mcp", "list")
    check("Connected" in ended.stdout, f"{who}: mcp list says that it is connected", ended)
    with imitated_models.model({"action": "write", "key": key, "value": "by a real host"}) as url:
        ended = house.run(
            program, "-p", "Write it down.", "--allowedTools", "mcp__longhouse__shared_context",
            ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY="imitated", ENABLE_TOOL_SEARCH="false",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        )
    check(key in ended.stdout, f"{who}: its model is told what the tool answered", ended)
    house.check_written(who, key)


def codex(house, way, addition):
    """The same with the other host."""
    who, key = f"codex, {way}", f"from_codex_by_{way}"
    program = "@openai/codex/bin/codex.js"
    ended = house.run(program, "mcp", "add", *addition)
    check(ended.returncode == 0, f"{who}: mcp add", ended)
    ended = house.run(program, "mcp", "list")
    check("longhouse" in ended.stdout and "enabled" in ended.stdout, f"{who}: mcp list has it", ended)
    with imitated_models.model({"action": "write", "key": key, "value": "by a real host"}) as url:
        provider = f'model_providers.imitated={{name="imitated", base_url="{url}/v1", wire_api="responses"}}'
        ended = house.run(
            program, "exec", "--skip-git-repo-check", "-c", "model_provider=imitated", "-c", provider,
            "-c", 'mcp_servers.longhouse.default_tools_approval_mode="approve"', "Write it down.",
        )
    check(key in ended.stdout, f"{who}: its model is told what the tool answered", ended)
    house.check_written(who, key)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        scene = json.load(file)
    address, bearer = scene["url"] + "/mcp", f"Authorization: Bearer {scene['tokens'][PARTICIPANT]}"
    in_its_environment = "Authorization: Bearer ${LONGHOUSE_TOKEN}"
    who = ["--user", scene["user"], "--session", scene["session"], "--participant", PARTICIPANT]
    stdio = ["--", scene["binary"], "mcp", "--data-dir", scene["data_dir"], *who]
    everything = ["tools/list", "tools/call", "resources/read", "prompts/get"]
    runs = [
        (inspector, "http", ["--header", bearer, "--", address], "legacy", everything),
        (inspector, "stdio", stdio, "modern", ["tools/list", "tools/call", "resources/read"]),
        (claude_code, "http", ["--transport", "http", "longhouse", address, "--header", in_its_environment]),
        (claude_code, "stdio", ["longhouse", *stdio]),
        (codex, "http", ["longhouse", "--url", address, "--bearer-token-env-var", "LONGHOUSE_TOKEN"]),
        (codex, "stdio", ["longhouse", *stdio]),
    ]
    for host, way, *more in runs:
        with tempfile.TemporaryDirectory() as home:
            host(House(scene, home), way, *more)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
