"""A plugin for tests: it counts in a file how often it was really called, and misbehaves on request.

The first argument is the file; what it describes is read from the file beside it, `<file>.words`, at its start.
"""

import json
import os
import sys

FILE = sys.argv[1]
WORDS = open(FILE + ".words").read() if os.path.exists(FILE + ".words") else "Counts."
TOOLS = ["add", "hang", "crash", "flood", "giant"]


def called(name):
    with open(FILE, "a") as file:
        file.write(name + "\n")
        file.flush()
        os.fsync(file.fileno())
    if name == "crash":
        os._exit(7)
    while name == "flood":
        sys.stdout.write("x" * 65536)
    if name == "giant":
        return {"content": [{"type": "text", "text": "x" * 1_000_000}]}
    return None if name == "hang" else {"content": [{"type": "text", "text": "counted"}]}


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        server = {"name": "counting", "version": "1"}
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    elif method == "tools/list":
        result = {"tools": [{"name": tool, "description": WORDS, "inputSchema": {"type": "object"}} for tool in TOOLS]}
    elif method == "tools/call":
        result = called(params["name"])
        if result is None:
            continue
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
