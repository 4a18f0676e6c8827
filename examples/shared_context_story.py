#!/usr/bin/env python3
"""One problem, three participants, one shared memory.

An orchestrator frames a problem, an analysis subagent finds the cause, a person answers one question,
and a remediation subagent plans the fix without investigating anything again. Each participant is known
by its own session token: who wrote what is stamped by the server and never claimed by the writer.
The words are the script's own; orchestrator.py, beside it, lets a model say and do them.

How to run it (Python 3, standard library only):

    longhouse serve --data-dir ./longhouse-data &
    export LONGHOUSE_TOKEN=$(longhouse token create --user owner --data-dir ./longhouse-data)
    python3 examples/shared_context_story.py        # LONGHOUSE_URL if not http://127.0.0.1:7700
"""

import json
import os
import sys
import urllib.error
import urllib.request

URL = os.environ.get("LONGHOUSE_URL", "http://127.0.0.1:7700").rstrip("/")


class Unexpected(Exception):
    """Something was not as the story says."""


def expect(condition, what):
    if not condition:
        raise Unexpected(what)


def call(token, method, path, body=None):
    """Sends one request; gives the status and the parsed answer, whatever the status is."""
    request = urllib.request.Request(
        URL + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def create(token, path, body):
    status, answer = call(token, "POST", path, body)
    expect(status == 201, f"POST {path} answered {status}: {answer}")
    return answer


class Participant:
    """A client of the `shared_context` tool that holds a token for one session and nothing else."""

    def __init__(self, owner_token, session, name):
        self.name = name
        self.path = f"/sessions/{session}/shared_context"
        self.token = create(owner_token, "/my/tokens", {"session": session, "participant": name})["token"]

    def says(self, words):
        print(f"{self.name:>24}  {words}")

    def tool(self, action, **fields):
        status, answer = call(self.token, "POST", self.path, {"action": action, **fields})
        expect(status == 200, f"{self.name}: {action} {fields.get('key', '')} answered {status}: {answer}")
        return answer

    def write(self, key, value):
        answer = self.tool("write", key=key, value=value)
        expect(answer["written_by"] == self.name, f"{key} is stamped {answer['written_by']}, written by {self.name}")
        self.says(f"writes {key} (version {answer['version']}, {answer['value_size_tokens']} tokens)")
        return answer

    def read(self, key, written_by):
        answer = self.tool("read", key=key)
        expect(answer["written_by"] == written_by, f"{key} was written by {answer['written_by']}, not {written_by}")
        self.says(f"reads {key}, written by {written_by}: {answer['value']}")
        return answer["value"]

    def list_keys(self):
        answer = self.tool("list_keys")
        keys = [entry["key"] for entry in answer["keys"]]
        expect(all("value" not in entry for entry in answer["keys"]), "a listing must not carry values")
        self.says(f"sees {', '.join(keys)} ({answer['total_size_tokens']} of {answer['max_store_tokens']} tokens)")
        return keys

    def delete(self, key):
        answer = self.tool("delete", key=key)
        expect(answer["deleted"] == key, f"deleting {key} answered {answer}")
        self.says(f"deletes {key}")
        return answer


def frame(orchestrator):
    orchestrator.write("current_phase", "analysis")
    orchestrator.write("problem_summary", "Throughput fell by 30% after the configuration change of 18 February.")
    orchestrator.write("scope", "Find the parameter that did it. Production stays as it is.")
    orchestrator.write("constraints", "Production is read-only. Staging may be used for experiments.")


def analyse(analysis):
    keys = analysis.list_keys()
    expect(
        keys == ["constraints", "current_phase", "problem_summary", "scope"],
        f"the analysis should see the four keys of the frame in order, not {keys}",
    )
    problem = analysis.read("problem_summary", written_by="orchestrator")
    expect("30%" in problem, f"the problem reads: {problem}")
    analysis.read("scope", written_by="orchestrator")
    analysis.read("constraints", written_by="orchestrator")
    analysis.says("… looks into configuration and staging with its own tools …")
    analysis.write(
        "findings_summary",
        "The change cut the connection pool from 200 to 20; threads starve under load. "
        "On staging a pool of 200 brings the throughput back.",
    )
    analysis.write("open_questions", "Was the smaller pool intended? A person must say so before a revert is advised.")


def settle(orchestrator):
    keys = orchestrator.list_keys()
    expect(
        keys == ["constraints", "current_phase", "findings_summary", "open_questions", "problem_summary", "scope"],
        f"the orchestrator should see two new keys in order, not {keys}",
    )
    question = orchestrator.read("open_questions", written_by="subagent:analysis:1")
    print(f"{'person':>24}  is asked: {question}")
    print(f"{'person':>24}  answers: no, that was an accident")
    orchestrator.write("decisions_made", "The change was an accident. The person agrees to advising a revert.")
    deleted = orchestrator.delete("open_questions")
    expect(deleted["previous_version"] == 1, f"deleting open_questions answered {deleted}")
    status, answer = call(
        orchestrator.token, "POST", orchestrator.path, {"action": "read", "key": "open_questions"}
    )
    expect(
        status == 404 and answer["error"]["code"] == "KEY_NOT_FOUND",
        f"a deleted key should be not found, not {status}: {answer}",
    )
    phase = orchestrator.write("current_phase", "remediation")
    expect(phase["version"] == 2, f"the second write of current_phase is version {phase['version']}")


def remediate(remediation):
    investigations = 0  # what it would have to find out again if nobody had written it down
    keys = remediation.list_keys()
    expect("open_questions" not in keys, "the settled question is still listed")
    findings = remediation.read("findings_summary", written_by="subagent:analysis:1")
    decision = remediation.read("decisions_made", written_by="orchestrator")
    if "from 200 to 20" not in findings:
        investigations += 1
    if "accident" not in decision:
        investigations += 1
    expect(investigations == 0, f"the remediation had to investigate {investigations} things again")
    remediation.says("knows what to do from two keys, with no investigation of its own")
    remediation.write("remediation_plan", "Set the pool back to 200, watch the throughput for an hour, then close.")


def review(orchestrator):
    orchestrator.read("remediation_plan", written_by="subagent:remediation:1")
    history = orchestrator.tool("read_history", key="current_phase")["history"]
    told = [(entry["version"], entry["value"], entry["written_by"]) for entry in history]
    expect(
        told == [(1, "analysis", "orchestrator"), (2, "remediation", "orchestrator")],
        f"the history of current_phase reads {told}",
    )
    orchestrator.says("reads the history of current_phase: analysis, then remediation")


def main():
    owner_token = os.environ.get("LONGHOUSE_TOKEN")
    expect(owner_token, "set LONGHOUSE_TOKEN to a user's token: longhouse token create --user owner")
    session = create(owner_token, "/sessions", {"title": "Throughput fell after a configuration change"})["id"]
    print(f"session {session}\n")

    orchestrator = Participant(owner_token, session, "orchestrator")
    frame(orchestrator)
    analyse(Participant(owner_token, session, "subagent:analysis:1"))
    settle(orchestrator)
    remediate(Participant(owner_token, session, "subagent:remediation:1"))
    review(orchestrator)
    print("\nEverybody saw what the story says.")


if __name__ == "__main__":
    try:
        main()
    except Unexpected as problem:
        sys.exit(f"not as expected: {problem}")
    except (OSError, KeyError, ValueError) as problem:
        sys.exit(f"no usable answer from {URL}: {problem!r}")
