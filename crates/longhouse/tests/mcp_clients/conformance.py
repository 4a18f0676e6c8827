#!/usr/bin/env python3
"""The official conformance suite for servers, every scenario of the two revisions that today's clients speak.

    conformance.py SCENE.json        (`cargo xtask test` makes the scene: xtask/src/mcp_clients.rs)

One line per check, "ok - …" or "not ok - …"; ends with 1 if one failed. What the suite only warns about fails too. Checks that
cannot apply to us stand in LEFT_OUT with the reason; one of them that comes to succeed is told as well, so the list stays true.
Extensions are not in a revision, and not run. We declare tasks; their stories are our own (crates/api/tests/it/mcp/tasks.rs).
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

LIMIT_S = 120
REVISIONS = ["2025-11-25", "2026-07-28"]
SUITE = "@modelcontextprotocol/conformance/dist/index.js"

# Each line is `scenario: check …`, or a scenario whose only own check has its name.
LEFT_OUT = {
    "calls a tool that only the suite's reference server has": """
        tools-call-simple-text
        tools-call-image
        tools-call-audio
        tools-call-embedded-resource
        tools-call-mixed-content
        tools-call-with-logging
        tools-call-error
        tools-call-with-progress
        tools-call-sampling
        tools-call-elicitation
        json-schema-2020-12: json-schema-2020-12-tool-found
        elicitation-sep1034-defaults: elicitation-sep1034-general
        elicitation-sep1330-enums: elicitation-sep1330-general
        server-sse-polling: server-sse-disconnect-resume
        server-stateless: sep-2575-server-rejects-undeclared-capability sep-2575-missing-capability-http-400
        server-stateless: sep-2575-http-server-no-independent-requests-on-stream sep-2575-server-no-log-without-loglevel
        input-required-result-basic-elicitation: sep-2322-elicitation-incomplete
        input-required-result-basic-list-roots: sep-2322-list-roots-incomplete
        input-required-result-basic-sampling: sep-2322-sampling-incomplete
        input-required-result-capability-check: sep-2322-respect-client-capabilities
        input-required-result-ignore-extra-params: sep-2322-ignore-unexpected-params
        input-required-result-missing-input-response: sep-2322-missing-response-rerequests
        input-required-result-multi-round: sep-2322-multi-round-r1
        input-required-result-multiple-input-requests: sep-2322-multiple-inputs-incomplete
        input-required-result-request-state: sep-2322-request-state-incomplete
        input-required-result-result-type: sep-2322-result-type-included
        input-required-result-tampered-state: sep-2322-reject-tampered-state
    """,
    "gets a prompt that only the suite's reference server has": """
        prompts-get-simple
        prompts-get-with-args
        prompts-get-embedded-resource
        prompts-get-with-image
        input-required-result-non-tool-request: sep-2322-non-tool-incomplete
    """,
    "reads a resource that only the suite's reference server has": """
        resources-read-text
        resources-read-binary
        resources-templates-read
        resources-subscribe
        resources-unsubscribe
    """,
    "we send clients no log, and declare none": """
        logging-set-level
    """,
    "an event without data is a broken message to clients from before 2025-11-25": """
        server-sse-polling: server-sse-priming-event server-sse-retry-field
    """,
    "no argument of our tools is also a header (x-mcp-header)": """
        http-custom-header-server-validation: sep-2243-server-no-xmcp-tool sep-2243-server-decode-base64
        http-custom-header-server-validation: sep-2243-server-validate-param-match
        http-custom-header-server-validation: sep-2243-server-reject-invalid-param-chars
        http-custom-header-server-validation: sep-2243-server-reject-param-mismatch
    """,
}


def left_out():
    """Every (scenario, check) that cannot apply."""
    for lines in LEFT_OUT.values():
        for line in lines.strip().splitlines():
            scenario, _, checks = line.strip().partition(":")
            for check in checks.split() or [scenario]:
                yield scenario, check


def run(scene, revision, results):
    """Runs the suite at a revision; gives each scenario's checks. Its exit code counts what is left out, so it says nothing."""
    folder = pathlib.Path(scene["node_modules"]).parent
    options = ["--url", scene["url"] + "/mcp", "--suite", "all", "--spec-version", revision, "--output-dir", results]
    command = [scene["node"], "--import", folder / "bearer.mjs", folder / "node_modules" / SUITE, "server", *options]
    given = {**os.environ, "LONGHOUSE_TOKEN": scene["tokens"]["orchestrator"]}
    ended = subprocess.run(command, env=given, cwd=folder, timeout=LIMIT_S, capture_output=True, text=True)
    scenarios = {}
    for file in sorted(pathlib.Path(results).glob("*/checks.json")):
        scenario = re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT.*", file.parent.name).group(1)
        scenarios[scenario] = json.loads(file.read_text(encoding="utf-8"))
    announced = set(re.findall(r"^=== Running scenario: (\S+) ===$", ended.stdout, re.MULTILINE))
    return scenarios, announced, ended


def write_an_entry(scene):
    """So that there is a resource to list and read."""
    request = urllib.request.Request(
        f"{scene['url']}/sessions/{scene['session']}/shared_context",
        data=json.dumps({"action": "write", "key": "for_the_suite", "value": "An entry."}).encode(),
        headers={"Authorization": f"Bearer {scene['tokens']['orchestrator']}", "Content-Type": "application/json"},
    )
    urllib.request.urlopen(request, timeout=LIMIT_S).close()


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        scene = json.load(file)
    write_an_entry(scene)
    excused, needless, failed = set(left_out()), set(left_out()), False
    for revision in REVISIONS:
        with tempfile.TemporaryDirectory() as results:
            scenarios, announced, ended = run(scene, revision, results)
        if not announced or announced != set(scenarios):
            failed = True
            print(f"not ok - conformance {revision}: every scenario leaves its checks; seen: {ended.stdout}{ended.stderr}")
        for scenario, check in ((scenario, check) for scenario, checks in scenarios.items() for check in checks):
            what = f"conformance {revision}, {scenario}: {check['id']}"
            if check["status"] == "SUCCESS":
                print(f"ok - {what}")
            elif check["status"] in ("FAILURE", "WARNING"):
                needless.discard((scenario, check["id"]))
                if (scenario, check["id"]) not in excused:
                    failed = True
                    print(f"not ok - {what}; seen: {check.get('errorMessage')}")
    for scenario, check in sorted(needless):
        failed = True
        print(f"not ok - conformance, {scenario}: {check} is left out, and applies now")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
