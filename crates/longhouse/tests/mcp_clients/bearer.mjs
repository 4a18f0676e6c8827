// Loaded before the conformance suite (`node --import`), which has no way to be given a token: every request that it sends
// carries LONGHOUSE_TOKEN. Nothing else about a request changes, so hosts, origins and streams are the suite's own.

import http from "node:http";
import { Agent, setGlobalDispatcher } from "undici";

const AUTHORIZATION = `Bearer ${process.env.LONGHOUSE_TOKEN}`;

function withToken(request) {
  const { headers } = request;
  const list = Array.isArray(headers) && [...headers, "authorization", AUTHORIZATION];
  return { ...request, headers: list || { ...headers, authorization: AUTHORIZATION } };
}

// What it sends with `fetch` and undici …
setGlobalDispatcher(new Agent().compose((dispatch) => (request, handler) => dispatch(withToken(request), handler)));

// … and what it sends with Node's own client, where it wants the spelling of header names kept.
const send = http.request;
http.request = (request, answered) => send(withToken(request), answered);
