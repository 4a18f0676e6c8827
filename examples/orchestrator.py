#!/usr/bin/env python3
"""An orchestrator and two subagents on any OpenAI-compatible model, with one shared memory.

The orchestrator frames a question. Two subagents work on it at the same time: one finds out, the other outlines
a note, waits on the session's event stream for the findings, and finishes it. The orchestrator concludes. None
of them sees another's conversation: all they share is one Longhouse session, over plain HTTP.

How to run it (Python 3.11, standard library only):

    longhouse serve --data-dir ./longhouse-data &
    export LONGHOUSE_TOKEN=$(longhouse token create --user owner --data-dir ./longhouse-data)
    export OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_API_KEY=sk-imitation OPENAI_MODEL=imitation
    cargo xtask imitated-model --listen 127.0.0.1:11434 &      # stands in for a model, as in CI
    python3 examples/orchestrator.py "Why does a small connection pool make a service slow?"

For a real model leave the imitation out and set the three to Ollama (that very address, no key), vLLM, a provider …
LONGHOUSE_TOKEN is a person's: it makes the session and an agent token for each participant, and archives the
session at the end; the models' loops never use it. Or make an empty session and the three tokens yourself
(`longhouse token create --user owner --session note-1 --participant subagent:research:1` …) and set
LONGHOUSE_SESSION, ORCHESTRATOR_TOKEN, RESEARCH_TOKEN and WRITE_TOKEN instead; archiving is then yours, too.
LONGHOUSE_URL if not http://127.0.0.1:7700.
"""

import http.client
import json
import os
import queue
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

ANSWERS_MOST = 16  # of the model, for one task
ATTEMPTS_MOST = 4  # at one request
PAUSE_LONGEST_S = 30
LONGHOUSE_TIMEOUT_S = 45  # three heartbeats of an event stream
MODEL_TIMEOUT_S = 300
FINDINGS_WITHIN_S = 900

PARTICIPANTS = {
    "orchestrator": "You lead two subagents, one for research and one for writing, and answer for the result.",
    "subagent:research:1": "You find out what is true. You rely on what you know and say how sure you are.",
    "subagent:write:1": "You write short, plain notes. You add no facts of your own.",
}


class Problem(Exception):
    """What a person is told, in one line, when the run cannot go on."""


def setting(name, default=None):
    value = os.environ.get(name, "").strip() or default
    if value is None:
        raise Problem(f"set {name}; the head of {sys.argv[0]} says how")
    return value


LONGHOUSE = setting("LONGHOUSE_URL", "http://127.0.0.1:7700").rstrip("/")
MODEL = setting("OPENAI_BASE_URL", "https://api.openai.com/v1").rstrip("/") + "/chat/completions"


def plain(text):
    """Text of a model or a server, fit for one line of a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())


def connect(method, url, token, body=None, headers=None, timeout_s=LONGHOUSE_TIMEOUT_S):
    """Gives the answer unread, whatever its status."""
    try:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, headers or {}, method=method)
        request.add_header("Content-Type", "application/json")
        if token:  # a redirect does not take it elsewhere
            request.add_unredirected_header("Authorization", f"Bearer {token}")
        return urllib.request.urlopen(request, timeout=timeout_s)
    except urllib.error.HTTPError as answer:
        return answer
    except ValueError:  # its own words would repeat the token
        raise Problem(f"cannot ask {url}: the address or the token is malformed") from None


def send(method, url, token, body=None, timeout_s=LONGHOUSE_TIMEOUT_S):
    """Gives the status and the answer, parsed if it is JSON. What may pass (429, 5xx, a lost connection) is tried
    again, under the same Idempotency-Key: Longhouse carries a repeated write out once and repeats its answer."""
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    for attempt in range(1, ATTEMPTS_MOST + 1):
        pause_s = 2.0 ** (attempt - 1)
        try:
            with connect(method, url, token, body, headers, timeout_s) as response:
                status, text, wait = response.status, response.read(), response.headers.get("Retry-After", "")
            if attempt == ATTEMPTS_MOST or (status != 429 and status < 500):
                return status, parsed(text)
            pause_s = min(int(wait), PAUSE_LONGEST_S) if wait.isdecimal() else pause_s
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            is_lost = isinstance(reason, (ConnectionResetError, BrokenPipeError, http.client.IncompleteRead))
            if attempt == ATTEMPTS_MOST or not is_lost:
                raise Problem(f"no answer from {url}: {plain(reason)}") from None
        time.sleep(pause_s)


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return text.decode(errors="replace")


def succeed(url, sent):
    status, answer = sent
    if status in (200, 201) and isinstance(answer, dict):
        return answer
    try:
        answer = answer["error"]["message"]
    except (KeyError, TypeError):
        pass
    raise Problem(f"{url} answered {status}: {plain(answer)[:300]}")


def longhouse(token, method, path, body=None):
    return succeed(LONGHOUSE + path, send(method, LONGHOUSE + path, token, body))


def wait_for(token, session, key):
    """Gives the first write of a key. The stream begins with the past (0) and goes on after what was seen, so that
    nothing is missed, however late we come and however often the connection is lost."""
    url = f"{LONGHOUSE}/sessions/{session}/events?keys={key}"
    seen, deadline = "0", time.monotonic() + FINDINGS_WITHIN_S
    while time.monotonic() < deadline:
        try:
            with connect("GET", url, token, headers={"Last-Event-ID": seen}) as stream:
                if stream.status != 200:
                    raise Problem(f"{url} answered {stream.status}")
                for line in stream:
                    field, _, text = line.decode().strip().partition(": ")
                    if field == "id":
                        seen = text
                    elif field == "data" and (event := json.loads(text))["type"] == "CONTEXT_WRITTEN":
                        return event
                    if time.monotonic() > deadline:  # a heartbeat comes every 15 s
                        break
        except (OSError, http.client.HTTPException):
            pass  # lost: once more
        time.sleep(1)
    raise Problem(f"nobody wrote `{key}` within {FINDINGS_WITHIN_S} s")


class Agent:
    """A model with a conversation, the tool `shared_context`, and an agent token for one session."""

    def __init__(self, name, session, token):
        self.name, self.session, self.token = name, session, token
        self.path = f"/sessions/{session}/shared_context"
        self.tools = longhouse(token, "GET", "/tools/schemas?format=openai")["tools"]
        self.messages = [self.told()]
        self.written = set()

    def told(self):
        """The system message: the role, and what Longhouse tells this participant: keys, manners, what is there now."""
        told = longhouse(self.token, "GET", f"/sessions/{self.session}/prompt")
        if told["participant"] != self.name:
            raise Problem(f"the token for {self.name} belongs to {told['participant']}")
        return {"role": "system", "content": f"{PARTICIPANTS[self.name]}\n\n{told['prompt']}"}

    def work(self, task, *keys):
        """One task: the model uses the tool until the keys are written and it answers in text."""
        self.messages[0] = self.told()
        self.messages.append({"role": "user", "content": task})
        for _ in range(ANSWERS_MOST):
            text, calls = self.ask()
            self.messages.append({"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})})
            for call in calls:
                content = json.dumps(self.use(call["function"]))
                self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
            missing = ", ".join(f"`{key}`" for key in keys if key not in self.written)
            if not calls and not missing:
                return self.says(text)
            if not calls:
                self.messages.append({"role": "user", "content": f"Not done: with shared_context, write {missing}."})
        raise Problem(f"{self.name} came to no end within {ANSWERS_MOST} answers of the model")

    def ask(self):
        """The model's next answer: its text, and the calls it wants made."""
        body = {"model": setting("OPENAI_MODEL"), "messages": self.messages, "tools": self.tools}
        sent = send("POST", MODEL, setting("OPENAI_API_KEY", ""), body, MODEL_TIMEOUT_S)
        try:
            message = succeed(MODEL, sent)["choices"][0]["message"]
            calls = message.get("tool_calls") or []
            if all(call["id"] and {"name", "arguments"} <= set(call["function"]) for call in calls):
                return message.get("content") or "", calls
        except (KeyError, IndexError, TypeError, AttributeError):
            pass
        raise Problem(f"{MODEL} answered something else than a chat completion")

    def use(self, function):
        """Does what the model asks. An error is an answer like any other: the model is to see it and react."""
        if function["name"] != "shared_context":
            return {"error": {"code": "INVALID_REQUEST", "message": "the only tool is shared_context"}}
        try:
            request = json.loads(function["arguments"])
        except (TypeError, ValueError):
            return {"error": {"code": "INVALID_REQUEST", "message": "the arguments are not JSON"}}
        status, answer = send("POST", LONGHOUSE + self.path, self.token, request)
        if status in (401, 429) or status >= 500:  # nothing that a model could mend
            succeed(LONGHOUSE + self.path, (status, answer))
        if status == 200 and request["action"] == "write":
            self.written.add(answer["key"])
            self.says(f"writes {answer['key']} (version {answer['version']})")
        return answer

    def keys(self):
        return longhouse(self.token, "POST", self.path, {"action": "list_keys"})["keys"]

    def says(self, words):
        print(f"{self.name:>20}  {plain(words)}", flush=True)


def in_parallel(*works):
    """Runs each in a thread of its own. The first problem ends the run: the others would wait in vain."""
    outcomes = queue.SimpleQueue()

    def run(work):
        try:
            work()
            outcomes.put(None)
        except Exception as problem:  # raised again below
            outcomes.put(problem)

    for work in works:
        threading.Thread(target=run, args=(work,), daemon=True).start()
    for _ in works:
        if problem := outcomes.get():
            raise problem


def write_note(writer):
    writer.work("Read the problem and write the points of a short note about it to `outline`. Then say so.", "outline")
    event = wait_for(writer.token, writer.session, "findings_summary")
    news = f"`findings_summary` is there now (version {event['version']}, by {event['written_by']})."
    writer.work(f"{news} Read it, and write the note along your outline to `draft`. Then say so.", "draft")


def solve(question, orchestrator, researcher, writer):
    orchestrator.work(
        f"A person asks: {question}\n\nDo not answer yet: frame it for your subagents. Write the problem to "
        "`problem_summary` and what an answer must respect to `constraints`. Then say so.",
        "problem_summary",
        "constraints",
    )
    find_out = "Read the problem, find out, and write your conclusions to `findings_summary`. Then say so."
    in_parallel(lambda: researcher.work(find_out, "findings_summary"), lambda: write_note(writer))
    orchestrator.work(
        "Your subagents are done. Read `findings_summary` and `draft`, mend what is wrong, and write the final "
        "answer to `output`. Then tell the person in two sentences.",
        "output",
    )


def main():
    question = plain(" ".join(sys.argv[1:])) or "Why does a small connection pool make a service slow?"
    person, session = None, setting("LONGHOUSE_SESSION", "")
    if session:
        tokens = [setting(name) for name in ("ORCHESTRATOR_TOKEN", "RESEARCH_TOKEN", "WRITE_TOKEN")]
    else:
        person = setting("LONGHOUSE_TOKEN")
        session = longhouse(person, "POST", "/sessions", {"title": question[:100]})["id"]
        wanted = [{"session": session, "participant": name, "ttl": "2h"} for name in PARTICIPANTS]
        tokens = [longhouse(person, "POST", "/my/tokens", body)["token"] for body in wanted]
    print(f"session {session}\n")
    try:
        agents = [Agent(name, session, token) for name, token in zip(PARTICIPANTS, tokens)]
        if agents[0].keys():
            raise Problem(f"the session {session} is not empty")
        solve(question, *agents)
        print(f"\n{'key':<20} {'version':>7}  written_by")
        for entry in agents[0].keys():
            print(f"{entry['key']:<20} {entry['version']:>7}  {entry['written_by']}")
    finally:  # after a failure, too: an archived session can be read and no longer changed
        if person:
            longhouse(person, "POST", f"/sessions/{session}/archive", {})
    print("\narchived" if person else f"\nto be archived: longhouse session archive {session}")


if __name__ == "__main__":
    try:
        main()
    except Problem as problem:
        sys.exit(f"orchestrator: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)
