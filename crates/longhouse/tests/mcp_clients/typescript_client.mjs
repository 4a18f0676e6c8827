// The official TypeScript SDK as a client of Longhouse: two participants, every way in, both eras of the protocol.
//
//     typescript_client.mjs SCENE.json        (`cargo xtask test` makes the scene: xtask/src/mcp_clients.rs)
//
// One line per check, "ok - …" or "not ok - …"; ends with 1 if one failed. Every wait has a limit and nothing sleeps.

import { readFileSync } from "node:fs";
import { Client, ResourceNotFoundError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const LIMIT_MS = 20_000;
// A still house is a data directory that no server has open: the first client opens it, and lets the second in.
const WAYS = ["http", "stdio to the server", "stdio to the data directory", "stdio to a still house"];
const [ORCHESTRATOR, REVIEW] = ["orchestrator", "subagent:review:1"];
const ERAS = { auto: "2026-07-28", legacy: "2025-11-25" };

const scene = JSON.parse(readFileSync(process.argv[2], "utf8"));
let label = "";

function check(holds, what, seen = "") {
  console.log(holds ? `ok - ${label}: ${what}` : `not ok - ${label}: ${what}; seen: ${JSON.stringify(seen)}`);
  if (!holds) process.exitCode = 1;
}

function within(promise, what) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`${what} took too long`)), LIMIT_MS)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Runs one part; what it throws is a failed check, and the other parts still run. */
async function story(part, ...people) {
  try {
    await within(part(...people), part.name);
  } catch (problem) {
    check(false, `${part.name} comes to its end`, String(problem?.stack ?? problem));
  }
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

class Participant {
  constructor(way, era, name, token = scene.tokens[name]) {
    Object.assign(this, { way, era, name, token, notices: [], waiting: [] });
    this.client = new Client({ name: "longhouse-test", version: "1" }, { versionNegotiation: { mode: era } });
    this.client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
      const waiter = this.waiting.shift();
      waiter ? waiter(params.uri) : this.notices.push(params.uri);
    });
  }

  async connect() {
    await within(this.client.connect(this.transport()), "connecting");
    return this;
  }

  transport() {
    if (this.way === "http") {
      const requestInit = { headers: { Authorization: `Bearer ${this.token}` } };
      return new StreamableHTTPClientTransport(new URL("/mcp", scene.url), { requestInit });
    }
    if (this.way === "stdio to the server") {
      const env = { LONGHOUSE_TOKEN: this.token };
      return new StdioClientTransport({ command: scene.binary, args: ["mcp", "--server", scene.url], env });
    }
    const dataDir = this.way === "stdio to the data directory" ? scene.data_dir : scene.still_data_dir;
    const who = ["--user", scene.user, "--session", scene.session, "--participant", this.name];
    return new StdioClientTransport({ command: scene.binary, args: ["mcp", "--data-dir", dataDir, ...who] });
  }

  nextNotice() {
    if (this.notices.length > 0) return Promise.resolve(this.notices.shift());
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  /** The answer as the text has it, whether it is an error, and the same as structured content. */
  async tool(name, args = {}) {
    const result = await this.client.callTool({ name, arguments: args });
    return [JSON.parse(result.content[0].text), result.isError === true, result.structuredContent];
  }

  async context(action, fields = {}) {
    const [answer, isError] = await this.tool("shared_context", { action, ...fields });
    if (isError) throw new Error(`${action} answered ${JSON.stringify(answer)}`);
    return answer;
  }

  uri(key) {
    return `longhouse://sessions/${scene.session}/context/${key}`;
  }

  async resource(key) {
    return (await this.client.readResource({ uri: this.uri(key) })).contents[0].text;
  }

  /** Subscribed when it resolves; gives what ends the subscription. */
  async subscribe(key) {
    if (this.client.getNegotiatedProtocolVersion() === ERAS.auto) {
      const subscription = await this.client.listen({ resourceSubscriptions: [this.uri(key)] });
      return () => subscription.close();
    }
    await this.client.subscribeResource({ uri: this.uri(key) });
    return () => this.client.unsubscribeResource({ uri: this.uri(key) });
  }
}

async function toolsAndPrompts(a) {
  const version = a.client.getNegotiatedProtocolVersion();
  check(version === ERAS[a.era], `speaks ${ERAS[a.era]}`, version);
  check(a.client.getServerVersion()?.name === "longhouse", "says its name", a.client.getServerVersion());
  const tools = (await a.client.listTools()).tools;
  const tool = tools.find(({ name }) => name === "shared_context");
  check(tool?.inputSchema.properties.action, "lists shared_context with its schema", tools);
  const prompts = (await a.client.listPrompts()).prompts.map(({ name }) => name);
  check(same(prompts, ["shared_context_guide"]), "lists the guide", prompts);
  const guide = (await a.client.getPrompt({ name: "shared_context_guide" })).messages[0].content.text;
  check(guide.includes("shared_context") && guide.length > 200, "the guide tells about the tool", guide);
}

async function twoWriters(a, b, key) {
  await a.context("write", { key, value: "from the orchestrator" });
  let seen = await b.context("read", { key });
  const right = seen.value === "from the orchestrator" && seen.written_by === ORCHESTRATOR;
  check(right, "the second sees what the first wrote, and who", seen);
  await b.context("write", { key, value: "from the review" });
  seen = await a.context("read", { key });
  check(seen.written_by === REVIEW && seen.version === 2, "the first sees the second's answer", seen);
  const [answer, , structured] = await a.tool("shared_context", { action: "list_keys" });
  check(same(answer, structured), "structured content is the text's JSON", structured);
  check(answer.keys.some((entry) => entry.key === key), "both are in one list", answer);
}

async function errors(a, b, key) {
  const table = [
    [{ action: "read", key: `${key}_absent` }, "KEY_NOT_FOUND"],
    [{ action: "write", key, value: "x", participant: "somebody" }, "INVALID_REQUEST"],
    [{ action: "write", key, value: "x", if_version: 7 }, "VERSION_CONFLICT"],
  ];
  for (const [args, code] of table) {
    const [answer, isError, structured] = await a.tool("shared_context", args);
    const right = isError && answer.error.code === code && answer.error.message && same(answer, structured);
    check(right, `${code} is a result with isError`, answer);
  }
}

async function resources(a, b, key) {
  await a.context("write", { key, value: "a resource" });
  const listed = (await b.client.listResources()).resources.map(({ uri }) => uri);
  check(listed.includes(a.uri(key)), "the entry is listed as a resource", listed);
  check((await b.resource(key)).includes("a resource"), "and can be read");
  const templates = (await a.client.listResourceTemplates()).resourceTemplates;
  check(templates.length > 0, "there is a template", templates);
  const uri = a.uri(`${key}_absent`);
  const error = await a.client.readResource({ uri }).catch((error) => error);
  check(error instanceof ResourceNotFoundError && error.uri === uri, "what is not there is not found", error);
}

async function subscriptions(a, b, key) {
  const unsubscribe = await b.subscribe(key);
  await a.context("write", { key: `${key}_other`, value: "not subscribed" });
  await a.context("write", { key, value: "first" });
  let noticed = await b.nextNotice();
  check(noticed === b.uri(key), "a subscription to a key that did not exist fires on its first write", noticed);
  check((await b.resource(key)).includes("first"), "and the resource has the new value");
  await a.context("write", { key, value: "second" });
  noticed = await b.nextNotice();
  check(noticed === b.uri(key), "it fires on the next write", noticed);
  check((await b.resource(key)).includes("second"), "and again the value is not a remembered one");
  await a.context("delete", { key });
  noticed = await b.nextNotice();
  check(noticed === b.uri(key), "it fires when the key is deleted", noticed);
  await unsubscribe();
  await b.context("write", { key, value: "after" });
  check((await b.resource(key)).includes("after"), "the connection serves on after the subscription");
}

/** The five tools of agents, in the era that most hosts speak today. */
async function items() {
  const { writer, library } = scene.agents;
  const agent = await new Participant("http", "legacy", "writer", writer.token).connect();
  const key = "a draft by typescript";
  const table = [
    ["workspace_write", { key, value: "by hand" }],
    ["workspace_read", { key }],
    ["workspace_list", {}],
    ["workspace_publish", { key, target_agent_id: library.id }],
    ["workspace_publish", { key, target_agent_id: library.id }, "ITEM_EXISTS"],
    ["workspace_publish", { key, target_agent_id: writer.id }, "FORBIDDEN"],
    ["workspace_delete", { key }],
    ["workspace_read", { key }, "ITEM_NOT_FOUND"],
  ];
  for (const [name, args, code] of table) {
    const [answer] = await agent.tool(name, args);
    check(answer.error?.code === code, `${name} answers ${code ?? "well"}`, answer);
  }
  await agent.client.close();
}

async function twoParticipants(way, era) {
  label = `typescript, ${way}, ${ERAS[era]}`;
  const key = `typescript_${way}_${era}`.replaceAll(" ", "_");
  const a = await new Participant(way, era, ORCHESTRATOR).connect();
  const b = await new Participant(way, era, REVIEW).connect();
  for (const part of [toolsAndPrompts, twoWriters, errors, resources, subscriptions]) {
    await story(part, a, b, `${key}_${part.name[0]}`);
  }
  await a.client.close();
  await b.client.close();
}

for (const way of WAYS) {
  for (const era of Object.keys(ERAS)) {
    await twoParticipants(way, era).catch((problem) => check(false, "comes to its end", String(problem?.stack ?? problem)));
  }
}
label = "typescript, an agent";
await story(items);
// A transport that did not close would keep us here for ever; its failure has been counted.
process.exit();
