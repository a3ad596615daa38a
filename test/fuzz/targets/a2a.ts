import { a2aAgent } from "../../../src/a2a/a2a-agent.ts";
import { A2aClient } from "../../../src/a2a/client/a2a-client.ts";
import { discover } from "../../../src/a2a/client/discovery.ts";
import { Connection } from "../../../src/connection/connection.ts";
import { RpcError, WireError } from "../../../src/protocol/errors.ts";
import { silentLog } from "../../../src/protocol/log.ts";
import { jsonText, mutated, oddly } from "../json.ts";
import { Peer } from "../peer.ts";
import type { Random } from "../random.ts";
import { broken, fuzzTarget } from "../target.ts";
import { isRequest } from "./mcp-server.ts";

const card = { name: "Test agent", description: "Does what a test wants" };
const transport = { kind: "hand", headers: {}, remoteAddress: undefined };

/** An A2A agent with a hostile client, in both versions of the protocol. */
export const a2aServer = fuzzTarget<{ steps: readonly string[] }>({
  holds:
    "each request has one reply under its id; no error is the agent's own (-32603); items of streams belong to a request",
  briefly: 250,
  reaches: ["answered"],
  generate: (random) => ({ steps: random.some(6, () => step(random)) }),
  async check({ steps }) {
    const agent = a2aAgent({
      card,
      log: silentLog,
      overload: false,
      async *execute({ text }) {
        if (text === "plain") return "plain";
        yield { state: "working" };
        if (text === "ask") yield { state: "input-required" };
        return text;
      },
    });
    const peer = new Peer();
    const connection = new Connection(peer, { service: agent, transport, log: silentLog });
    const asked: number[] = [];
    let task = "none";
    for (const [i, each] of steps.entries()) {
      const text = each.replaceAll("§id", `${i}`).replaceAll("§task", task);
      if (isRequest(text, i)) asked.push(i);
      peer.say(text);
      await turns();
      task = /"(?:taskId|id)":"([0-9a-f-]{20,})"/.exec(peer.sent.at(-1) ?? "")?.[1] ?? task;
    }
    const sent = peer.sent.flatMap((text) => [JSON.parse(text)].flat() as Sent[]);
    for (const { method, error, params } of sent) {
      if (error?.code === -32603) broken("an error of the agent's own", sent);
      const isStray = method === "$/stream" && !asked.includes(params?.id as number);
      if (isStray) broken("an item without a request", sent);
    }
    const replies = sent.filter(({ method }) => method === undefined).map(({ id }) => id);
    for (const id of asked) {
      const count = replies.filter((each) => each === id).length;
      // A subscription lasts as long as its task.
      const mayWait = /ubscribe|tream/.test(steps[id] ?? "") || !connection.isOpen;
      if (count > 1 || (count === 0 && !mayWait)) broken("not one reply", { id, count, sent });
    }
    peer.end();
    await agent.close({ drainMs: 0 });
    return "answered";
  },
});

interface Sent {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly error?: { readonly code?: unknown };
  readonly params?: { readonly id?: unknown };
}

/** The agent stores its tasks asynchronously. */
async function turns(): Promise<void> {
  for (let i = 0; i < 4; i++) await new Promise((resolve) => setImmediate(resolve));
}

const pushMethods = ["set", "get", "list", "delete"];
const methods = [
  ...["SendMessage", "SendStreamingMessage", "GetTask", "ListTasks", "CancelTask"],
  ...["SubscribeToTask", "CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig"],
  ...["ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig", "nothing"],
  ...["GetExtendedAgentCard", "message/send", "message/stream", "tasks/get", "tasks/cancel"],
  ...["tasks/resubscribe", "agent/getAuthenticatedExtendedCard"],
  ...pushMethods.map((name) => `tasks/pushNotificationConfig/${name}`),
];

function step(random: Random): string {
  const method = random.oneIn(3)
    ? random.pick(["SendMessage", "message/send", "message/stream"])
    : random.pick(methods);
  const isSend = /^(message\/|Send)/.test(method);
  const usual = isSend ? sendParams(random, method.includes("/")) : reference(random);
  const params = random.oneIn(10) ? jsonText(random, 2) : usual;
  return mutated(random, `{"jsonrpc":"2.0","id":§id,"method":"${method}","params":${params}}`, 15);
}

const parts = [
  ...['"text":"hi"', '"text":"ask"', '"text":"plain"', '"text":""', '"raw":"AAEC"', '"raw":"!"'],
  ...['"url":"http://a"', '"data":{"a":1}', '"data":null', '"text":"a","data":1'],
].map((members) => `{${members}}`);
const legacyParts = [
  ...['"kind":"text","text":"hi"', '"kind":"text","text":"ask"', '"kind":"text"', '"kind":"x"'],
  ...[
    '"kind":"file","file":{"bytes":"AA==","name":"a"}',
    '"kind":"file","file":{"uri":"http://a"}',
  ],
  ...['"kind":"file","file":1', '"kind":"data","data":{}', '"kind":"constructor"'],
].map((members) => `{${members}}`);
const configurations = [
  "{}",
  '{"historyLength":1,"returnImmediately":true}',
  '{"blocking":false,"historyLength":-1}',
  '{"acceptedOutputModes":["a/b"]}',
  '{"taskPushNotificationConfig":{"url":"http://a"}}',
  '{"pushNotificationConfig":{"url":"http://a"}}',
  "1",
];
const messageMembers = ["contextId", "metadata", "extensions", "referenceTaskIds", "__proto__"];

function sendParams(random: Random, isLegacy: boolean): string {
  const known = isLegacy ? legacyParts : parts;
  const content = random.some(3, () =>
    random.oneIn(6) ? jsonText(random, 1) : random.pick(known),
  );
  if (content.length === 0 && !random.oneIn(4)) content.push(known[0] as string);
  const roles = isLegacy ? ['"user"', '"agent"', '"constructor"'] : ['"ROLE_USER"', '"x"'];
  const message = [
    `"messageId":"m${random.below(3)}"`,
    `"role":${random.oneIn(8) ? random.pick(roles) : roles[0]}`,
    `"parts":[${content.join(",")}]`,
  ];
  if (random.oneIn(3)) message.push('"taskId":"§task"');
  if (random.oneIn(6)) message.push(`"${random.pick(messageMembers)}":${jsonText(random, 1)}`);
  const members = [`"message":{${message.join(",")}}`];
  if (random.oneIn(4)) members.push(`"configuration":${random.pick(configurations)}`);
  return `{${members.join(",")}}`;
}

const referenceMembers = [
  ...["historyLength", "pageSize", "pageToken", "status", "contextId", "statusTimestampAfter"],
  ...["includeArtifacts", "tenant", "url", "metadata"],
];
const referenceValues = [
  ...["1", '"x"', "true", '"TASK_STATE_WORKING"', '"2026-01-01T00:00:00Z"', '"http://127.0.0.1"'],
];

function reference(random: Random): string {
  const id = (): string => (random.oneIn(5) ? jsonText(random, 1) : '"§task"');
  const members = [`"id":${id()}`];
  if (random.oneIn(3)) members.push(`"taskId":${id()}`);
  if (random.oneIn(4)) {
    const value = random.oneIn(2) ? jsonText(random, 1) : random.pick(referenceValues);
    members.push(`"${random.pick(referenceMembers)}":${value}`);
  }
  return `{${members.join(",")}}`;
}

interface Served {
  readonly kind: "send" | "stream" | "get" | "list" | "discover";
  readonly version: "1.0" | "0.3";
  readonly bodies: readonly string[];
  readonly isEvents: boolean;
}

/** An A2A client of a hostile agent. */
export const a2aClient = fuzzTarget<Served>({
  holds: "each call settles with a result, with an RpcError or with a WireError; a stream ends",
  briefly: 1_000,
  reaches: ["result", "error of the server", "wire error"],
  generate: (random) => ({
    kind: random.pick(["send", "stream", "get", "list", "discover"] as const),
    version: random.pick(["1.0", "0.3"] as const),
    bodies: random.some(5, () => body(random)),
    isEvents: random.oneIn(2),
  }),
  async check({ kind, version, bodies, isEvents }) {
    const left = [...bodies];
    const fetch = async (_: string, init: RequestInit): Promise<Response> => {
      const id = typeof init.body === "string" ? (JSON.parse(init.body) as { id?: unknown }).id : 0;
      const texts = left
        .splice(0, isEvents ? left.length : 1)
        .map((text) => text.replaceAll("§id", JSON.stringify(id)));
      const type = isEvents ? "text/event-stream" : "application/json";
      const sent = isEvents ? texts.map((text) => `data: ${text}\n\n`).join("") : texts[0];
      return new Response(sent ?? "", { headers: { "content-type": type } });
    };
    const at = { card: card as never, url: "http://localhost/a2a", version, tenant: undefined };
    const client = new A2aClient(at, { fetch, maxResumes: 0 });
    const asks: Record<Served["kind"], () => Promise<unknown>> = {
      send: () => client.send("hi"),
      stream: async () => {
        for await (const _ of client.stream("hi")) await undefined;
      },
      get: () => client.getTask("t"),
      list: () => client.listTasks(),
      discover: () => discover("http://localhost/card.json", fetch, {}),
    };
    const [outcome] = await Promise.allSettled([asks[kind]()]);
    if (outcome.status === "fulfilled") return "result";
    if (outcome.reason instanceof RpcError) return "error of the server";
    if (outcome.reason instanceof WireError) return "wire error";
    throw outcome.reason;
  },
});

const results = [
  '{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"x"}]}]}}',
  '{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}',
  '{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}',
  '{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]},"append":true,"lastChunk":true}}',
  '{"kind":"task","id":"t","contextId":"c","status":{"state":"completed"},"history":[{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]}]}',
  '{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"file","file":{"bytes":"AA=="}}]}',
  '{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"working","message":{"parts":[]}},"final":false}',
  '{"kind":"artifact-update","taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"kind":"data","data":{}}]}}',
  '{"tasks":[{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}],"nextPageToken":"","pageSize":1,"totalSize":1}',
];
const cards = [
  '{"name":"a","supportedInterfaces":[{"url":"http://localhost/a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}',
  '{"name":"a","url":"http://localhost/a","protocolVersion":"0.3.0","preferredTransport":"JSONRPC"}',
  '{"name":"a","supportedInterfaces":[{"url":"http://[","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}',
];
const errors = [
  ...['{"code":-32001,"message":"x"}', '{"code":"x"}', "{}", "1", '"x"', "[]", "false"],
  ...['{"code":1,"message":2,"data":[{"@type":1}]}', '{"code":1.5,"message":"x"}'],
];

function body(random: Random): string {
  if (random.oneIn(5)) return oddly(random, random.pick(cards));
  if (random.oneIn(10)) return jsonText(random, 2);
  if (random.oneIn(6)) return `{"jsonrpc":"2.0","id":§id,"error":${random.pick(errors)}}`;
  const result = oddly(random, random.pick(results));
  return mutated(random, `{"jsonrpc":"2.0","id":§id,"result":${result}}`, 10);
}
