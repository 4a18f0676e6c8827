#!/usr/bin/env python3
"""Adds a private and a shared agent to the scene, each with a token: those whose workspace the other scripts look into.

    agents.py SCENE.json        (`cargo xtask test` makes the scene: xtask/src/mcp_clients.rs)
"""

import json
import sys
import urllib.request

LIMIT_S = 20
PROJECT = "mcp clients"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        scene = json.load(file)

    def create(path, **fields):
        headers = {"Authorization": f"Bearer {scene['user_token']}", "Content-Type": "application/json"}
        request = urllib.request.Request(scene["url"] + path, data=json.dumps(fields).encode(), headers=headers)
        with urllib.request.urlopen(request, timeout=LIMIT_S) as response:
            return json.load(response)

    project = create("/my/projects", name=PROJECT)["id"]
    scene["agents"] = {}
    for name, visibility in [("writer", "private"), ("library", "shared")]:
        agent = create(f"/my/projects/{project}/agents", name=name, visibility=visibility)["id"]
        scene["agents"][name] = {"id": agent, "token": create("/my/tokens", agent=agent)["token"]}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(scene, file)
    print("ok - a private and a shared agent have tokens")


if __name__ == "__main__":
    main()
