"""Imitates the two model providers just far enough for a host to call one tool: the first turn calls it, the second says what
the tool answered. Speaks Anthropic's messages and OpenAI's responses, streaming; loopback only."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextlib.contextmanager
def model(tool_arguments):
    """Gives the URL of a model that calls `shared_context` with these arguments, once per conversation."""

    class Model(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            turn = anthropic if "/messages" in self.path else openai
            events = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in turn(asked, tool_arguments)]
            self.answer("text/event-stream", "".join(events))

        def do_GET(self):
            self.answer("application/json", '{"data": [], "models": []}')

        def do_HEAD(self):
            self.answer("application/json", "")

        def answer(self, content_type, text):
            body = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def anthropic(asked, tool_arguments):
    parts = [part for message in asked["messages"] if isinstance(message["content"], list) for part in message["content"]]
    results = [part for part in parts if part.get("type") == "tool_result"]
    if results:
        block, stop = {"type": "text", "text": ""}, "end_turn"
        delta = {"type": "text_delta", "text": json.dumps(results)}
    else:
        block, stop = {"type": "tool_use", "id": "toolu_1", "name": "mcp__longhouse__shared_context", "input": {}}, "tool_use"
        delta = {"type": "input_json_delta", "partial_json": json.dumps(tool_arguments)}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked["model"], "content": []}
    usage = {"input_tokens": 1, "output_tokens": 1}
    return [
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


def openai(asked, tool_arguments):
    results = [item for item in asked["input"] if item.get("type") == "function_call_output"]
    if results:
        text = {"type": "output_text", "text": json.dumps(results), "annotations": []}
        item = {"type": "message", "role": "assistant", "id": "msg_1", "content": [text]}
    else:
        name = {"name": "shared_context", "namespace": "mcp__longhouse"}
        call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", **name}
        item = {**call, "arguments": json.dumps(tool_arguments)}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}},
    ]
