import { MetaKey } from "../../../src/mcp/meta-keys.ts";
import { revisions } from "../../../src/mcp/revisions.ts";
import { mcpServer } from "../../../src/mcp/server/mcp-server.ts";
import { prompt } from "../../../src/mcp/server/prompt.ts";
import { resource } from "../../../src/mcp/server/resource.ts";
import { serveMcpChannel } from "../../../src/mcp/server/serve-channel.ts";
import { tool } from "../../../src/mcp/server/tool.ts";
import { silentLog } from "../../../src/protocol/log.ts";
import { jsonText, mutated } from "../json.ts";
import { Peer, settle } from "../peer.ts";
import type { Random } from "../random.ts";
import { broken, fuzzTarget } from "../target.ts";
import { membersOf } from "./answer.ts";

const form = { type: "object", properties: { a: { type: "string" } } } as const;
const server = mcpServer(
  {
    add: (a: number, b: number) => a + b,
    ask: tool({ task: "optional" }, async (_, call) =>
      JSON.stringify(await call.elicit("?", form)),
    ),
    report: tool({}, (_, call) => {
      call.progress(1);
      return { content: [{ type: "text" as const, text: "done" }] };
    }),
  },
  {
    name: "test",
    version: "1",
    log: silentLog,
    overload: false,
    resources: [
      resource({ uri: "test://a", read: () => "a" }),
      resource({
        uriTemplate: "test://{x}/b{?q}",
        complete: { x: () => ["1"] },
        read: ({ x }) => `${x}`,
      }),
    ],
    prompts: { p: prompt({ arguments: [{ name: "a" }], complete: { a: () => ["1"] } }, () => "p") },
  },
);

/** Ids that no mutated message has by chance. */
const firstId = 7_000_000;

/** Takes as long as the client or the task exists. */
const lasting = /"ask"|subscriptions\/listen|tasks\/result/;

/**
 * An MCP server with a hostile client: requests of all eras, and answers to the server's questions.
 */
export const mcpServerTarget = fuzzTarget<{ steps: readonly string[] }>({
  holds:
    "each request has one reply under its id; no error is the server's own (-32603); all that the server sends is JSON-RPC; after the end nothing waits",
  briefly: 600,
  reaches: ["answered"],
  generate: (random) => ({ steps: random.some(8, () => step(random)) }),
  async check({ steps }) {
    const peer = new Peer();
    const connection = serveMcpChannel(server, peer, { log: silentLog });
    const asked: number[] = [];
    for (const [i, each] of steps.entries()) {
      // Each id is new, so that a second reply is noticed.
      const id = firstId + i;
      const text = each.replaceAll("§id", `${id}`).replaceAll("§asked", `${lastAsked(peer)}`);
      if (isRequest(text, id)) asked.push(id);
      peer.say(text);
      await settle();
    }
    const messages = peer.sent.flatMap((text) => [JSON.parse(text)].flat() as Sent[]);
    if (messages.some(({ jsonrpc }) => jsonrpc !== "2.0")) broken("not JSON-RPC", messages);
    const replies = messages.filter(({ method }) => method === undefined);
    const own = replies.find(({ error }) => error?.code === -32603);
    if (own !== undefined) broken("an error of the server's own", own);
    const isCancelled = steps.some((text) => text.includes("cancel"));
    for (const id of asked) {
      const count = replies.filter((reply) => reply.id === id).length;
      const isLasting = lasting.test(steps[id - firstId] ?? "");
      const mayWait = isCancelled || isLasting || !connection.isOpen;
      if (count > 1 || (count === 0 && !mayWait)) broken("not one reply", { id, count, messages });
    }
    peer.end(new Error("the wire broke"));
    await settle();
    if (connection.pending !== 0) broken("calls are left", connection.pending);
    return "answered";
  },
});

interface Sent {
  readonly jsonrpc?: unknown;
  readonly id?: unknown;
  readonly method?: unknown;
  readonly error?: { readonly code?: unknown };
}

/** The id of the last request of the server. */
function lastAsked(peer: Peer): unknown {
  const sent = peer.sent.map((text) => JSON.parse(text) as Sent);
  return sent.findLast(({ method, id }) => method !== undefined && id !== undefined)?.id ?? 0;
}

/** Whether a text is a request by name with this id. */
export function isRequest(text: string, id: number): boolean {
  try {
    const message = JSON.parse(text) as Record<string, unknown>;
    const { jsonrpc, method, params = {} } = message;
    const names = membersOf(text)[0]?.map(([name]) => name) ?? [];
    const isWhole = jsonrpc === "2.0" && typeof method === "string" && message["id"] === id;
    const isNamed = typeof params === "object" && params !== null && !Array.isArray(params);
    return isWhole && isNamed && new Set(names).size === names.length;
  } catch {
    return false;
  }
}

const methods = [
  ...["initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/read"],
  ...["resources/templates/list", "resources/subscribe", "resources/unsubscribe", "prompts/list"],
  ...["prompts/get", "completion/complete", "logging/setLevel", "tasks/get", "tasks/list"],
  ...["tasks/cancel", "tasks/update", "tasks/result", "server/discover", "subscriptions/listen"],
  ...["nothing", "__proto__", "add"],
];
const notices = [
  ...["notifications/initialized", "notifications/cancelled", "notifications/progress"],
  ...["notifications/roots/list_changed", "notifications/x", "$/cancelRequest"],
];
const words = [
  ...["add", "ask", "report", "p", "test://a", "test://1/b", "test://1/b?q=2", "test://%/b"],
  ...["test://%zz/b", "__proto__", "constructor", "", "x", "a"],
].map((word) => JSON.stringify(word));

function step(random: Random): string {
  if (random.oneIn(8)) {
    const action = random.pick(['"accept"', '"decline"', '"cancel"', '"x"', "1"]);
    const result = `{"action":${action},"content":${jsonText(random, 2)}}`;
    const outcome = random.oneIn(3)
      ? '"error":{"code":-1,"message":"no"}'
      : `"result":${random.oneIn(3) ? jsonText(random, 2) : result}`;
    return `{"jsonrpc":"2.0","id":§asked,${outcome}}`;
  }
  if (random.oneIn(8)) {
    const usual = '{"requestId":0,"progressToken":0,"progress":1}';
    const params = random.oneIn(3) ? jsonText(random, 1) : usual;
    const method = random.pick(notices);
    return mutated(random, `{"jsonrpc":"2.0","method":"${method}","params":${params}}`, 6);
  }
  const method = random.pick(methods);
  const params = random.oneIn(15) ? jsonText(random, 2) : paramsOf(random, method);
  return mutated(random, `{"jsonrpc":"2.0","id":§id,"method":"${method}","params":${params}}`, 12);
}

const capabilities = [
  "{}",
  '{"elicitation":{}}',
  '{"elicitation":{"form":{},"url":{}},"roots":{}}',
  '{"elicitation":5,"extensions":[]}',
];
/** The params of each method, by the beginning of its name. */
const shapes: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  initialize: {
    protocolVersion: [...revisions, "2030-01-01", ""].map((each) => JSON.stringify(each)),
    capabilities,
    clientInfo: ['{"name":"c","version":"1"}'],
  },
  "tools/c": {
    name: words,
    arguments: ["{}", '{"a":1,"b":2}', '{"a":"1"}', '{"__proto__":1}', "[]"],
    task: ["{}", '{"ttl":1000}', '{"ttl":-1}'],
  },
  "prompts/g": { name: words, arguments: ["{}", '{"a":"1"}', '{"a":1}'] },
  resources: { uri: words },
  completion: {
    ref: [
      '{"type":"ref/prompt","name":"p"}',
      '{"type":"ref/resource","uri":"test://{x}/b{?q}"}',
      '{"type":"ref/resource","uri":"test://a"}',
      '{"type":"x"}',
    ],
    argument: [
      '{"name":"a","value":""}',
      '{"name":"x","value":"1"}',
      '{"name":"__proto__","value":"1"}',
      '{"name":"a","value":1}',
    ],
    context: ['{"arguments":{"q":"1"}}', '{"arguments":1}', "1"],
  },
  tasks: { taskId: words },
  logging: { level: ['"info"', '"x"'] },
  subscriptions: {
    notifications: [
      "{}",
      '{"toolsListChanged":true,"resourceSubscriptions":["test://a"]}',
      '{"resourceSubscriptions":[1]}',
    ],
  },
};
const shared: Readonly<Record<string, readonly string[]>> = {
  cursor: ['""', '"x"', '"MQ=="', "1"],
  inputResponses: ["{}", '{"1":{"action":"accept"}}', "1"],
  requestState: ['"x"', '"a.b"', '""', "1"],
};

function paramsOf(random: Random, method: string): string {
  const start = Object.keys(shapes).find((name) => method.startsWith(name)) ?? "";
  const members = Object.entries(shapes[start] ?? {})
    .filter(([name]) => !random.oneIn(name === "task" || name === "context" ? 2 : 8))
    .map(
      ([name, values]) =>
        `"${name}":${random.oneIn(8) ? jsonText(random, 2) : random.pick(values)}`,
    );
  for (const [name, values] of Object.entries(shared)) {
    if (random.oneIn(6)) members.push(`"${name}":${random.pick(values)}`);
  }
  if (random.oneIn(2)) {
    const meta = [
      `"${MetaKey.ProtocolVersion}":"2026-07-28"`,
      `"${MetaKey.ClientCapabilities}":${random.pick(capabilities)}`,
    ];
    if (random.oneIn(3)) meta.push(`"progressToken":${jsonText(random, 0)}`);
    members.push(`"_meta":{${meta.join(",")}}`);
  }
  return `{${members.join(",")}}`;
}
