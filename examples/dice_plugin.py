#!/usr/bin/env python3
"""A plugin: an MCP server that throws dice, over standard input and output.

Python 3, standard library only. In longhouse.yaml, with a path that counts from where the house is started:

    plugins:
      dice: { command: ["python3", "examples/dice_plugin.py"], caps: ["dice.*"] }

Its tools are then called `dice.roll` and `dice.odds`. One message is one line of JSON; whatever is printed for people goes
to standard error. It ends when its input does.
"""

import json
import random
import sys

NUMBER = {"type": "integer", "minimum": 1}
TOOLS = {
    "roll": {
        "description": "Throws dice and tells what each of them shows.",
        "properties": {"dice": {**NUMBER, "maximum": 100}, "sides": {**NUMBER, "maximum": 1000}},
        "required": [],
    },
    "odds": {
        "description": "How likely it is that the sum of so many dice with six sides is at least this.",
        "properties": {"dice": {**NUMBER, "maximum": 20}, "at_least": NUMBER},
        "required": ["dice", "at_least"],
    },
}


def roll(dice=1, sides=6):
    return ", ".join(str(random.randint(1, sides)) for _ in range(dice))


def odds(dice, at_least):
    ways = {0: 1}
    for _ in range(dice):
        thrown = {}
        for total, count in ways.items():
            for side in range(1, 7):
                thrown[total + side] = thrown.get(total + side, 0) + count
        ways = thrown
    good = sum(count for total, count in ways.items() if total >= at_least)
    return f"{good / 6**dice:.1%}"


def listed(name):
    tool = TOOLS[name]
    schema = {"type": "object", "properties": tool["properties"], "required": tool["required"]}
    return {"name": name, "description": tool["description"], "inputSchema": {**schema, "additionalProperties": False}}


def called(name, arguments):
    tool = TOOLS.get(name)
    if tool is None:
        raise ValueError("there is no such tool")
    for key in tool["required"]:
        if key not in arguments:
            raise ValueError(f"`{key}` is missing")
    for key, value in arguments.items():
        bounds = tool["properties"].get(key)
        if bounds is None:
            raise ValueError(f"`{key}` is not known")
        if type(value) is not int or not 1 <= value <= bounds.get("maximum", value):
            raise ValueError(f"`{key}` has to be a whole number from 1 to {bounds.get('maximum', 'as many as you like')}")
    return {"roll": roll, "odds": odds}[name](**arguments)


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "dice", "version": "1.0"},
        }
    if method == "tools/list":
        return {"tools": [listed(name) for name in TOOLS]}
    if method == "tools/call":
        try:
            text, failed = called(params["name"], params.get("arguments") or {}), False
        except ValueError as problem:
            # A result and no error: a model reads it and can do better.
            text, failed = str(problem), True
        return {"content": [{"type": "text", "text": text}], "isError": failed}
    return {} if method == "ping" else None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    result = answer(message["method"], message.get("params") or {})
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if result is None:
        reply["error"] = {"code": -32601, "message": "there is no such method"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
