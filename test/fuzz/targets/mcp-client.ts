import { mcpChannelLink } from "../../../src/mcp/client/channel-wire.ts";
import { McpClient } from "../../../src/mcp/client/mcp-client.ts";
import { RpcError, WireError } from "../../../src/protocol/errors.ts";
import { silentLog } from "../../../src/protocol/log.ts";
import { jsonText, mutated, oddly } from "../json.ts";
import { Peer, settle } from "../peer.ts";
import type { Random } from "../random.ts";
import { broken, fuzzTarget } from "../target.ts";

const asks = {
  tools: (client: McpClient) => client.tools().all(),
  callTool: (client: McpClient) => client.callTool("x", { a: 1 }),
  resources: (client: McpClient) => client.resources().all(),
  read: (client: McpClient) => client.readResource("a:b"),
  prompts: (client: McpClient) => client.prompts().all(),
  getPrompt: (client: McpClient) => client.getPrompt("x"),
  complete: (client: McpClient) =>
    client.complete({ type: "ref/prompt", name: "x" }, { name: "a", value: "" }),
};

interface Input {
  readonly ask: keyof typeof asks;
  readonly era: "modern" | "2025-11-25" | "2024-11-05" | "none";
  /** The answers of the server, one after the other: §id is the id of the request. */
  readonly answers: readonly string[];
}

/** An MCP client with a hostile server. */
export const mcpClientTarget = fuzzTarget<Input>({
  holds:
    "each request settles with an object, or with an RpcError or WireError; no error that the client sends is its own (-32603)",
  briefly: 350,
  reaches: ["result", "error of the server", "wire error"],
  generate: (random) => {
    const ask = random.pick(Object.keys(asks) as Input["ask"][]);
    const era = random.pick(["modern", "2025-11-25", "2024-11-05", "none"] as const);
    return { ask, era, answers: random.some(6, () => answer(random, ask)) };
  },
  async check({ ask, era, answers }) {
    const left = [...answers];
    const peers: Peer[] = [];
    const open = (): Peer => {
      const peer = new Peer();
      peers.push(peer);
      peer.onMessage = (text) => {
        const { id, method } = JSON.parse(text) as { id?: unknown; method?: string };
        if (method === undefined || id === undefined) return;
        const said = greetings(era, method) ?? left.shift();
        if (said === undefined) peer.end(new Error("the wire broke"));
        else peer.say(said.replaceAll("§id", JSON.stringify(id)));
      };
      return peer;
    };
    const client = new McpClient(mcpChannelLink(open, { reconnect: false }), {
      name: "test",
      version: "1",
      log: silentLog,
      elicitForm: () => ({ action: "accept", content: { a: "b" } }),
      sample: () => ({ model: "m", role: "assistant", content: { type: "text", text: "x" } }),
      roots: [{ uri: "file:///a" }],
    });
    const asking = Promise.allSettled([asks[ask](client)]);
    let isSettled = false;
    void asking.then(() => {
      isSettled = true;
    });
    const sent = (): string[] => peers.flatMap((peer) => peer.sent);
    while (!isSettled) {
      const before = sent().length;
      await settle();
      if (sent().length > before || isSettled) continue;
      // The client would wait for a server that does not answer.
      for (const peer of peers) peer.end(new Error("the wire broke"));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const [outcome] = await asking;
    await client.close();
    const own = sent().filter((text) => text.includes('"code":-32603'));
    if (own.length > 0) broken("an error of the client's own", own);
    if (outcome.status === "fulfilled") {
      if (typeof outcome.value !== "object" || outcome.value === null) broken("no result", outcome);
      return "result";
    }
    if (outcome.reason instanceof RpcError) return "error of the server";
    if (outcome.reason instanceof WireError) return "wire error";
    throw outcome.reason;
  },
});

const offered = '{"tools":{},"resources":{},"prompts":{},"completions":{}}';

function greetings(era: Input["era"], method: string): string | undefined {
  if (era === "none") return undefined;
  if (method === "server/discover") {
    return era === "modern"
      ? `{"jsonrpc":"2.0","id":§id,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":${offered}}}`
      : '{"jsonrpc":"2.0","id":§id,"error":{"code":-32601,"message":"Method not found"}}';
  }
  if (method !== "initialize" || era === "modern") return undefined;
  return `{"jsonrpc":"2.0","id":§id,"result":{"protocolVersion":"${era}","capabilities":${offered},"serverInfo":{"name":"s","version":"1"}}}`;
}

const shapes: Readonly<Record<Input["ask"], string>> = {
  tools:
    '{"tools":[{"name":"x","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{"type":"number"}}}}]}',
  callTool:
    '{"content":[{"type":"text","text":"hi"},{"type":"image","data":"AA==","mimeType":"image/png"}],"structuredContent":{"a":1},"isError":false}',
  resources: '{"resources":[{"uri":"a:b","name":"n"}],"nextCursor":"c"}',
  read: '{"contents":[{"uri":"a:b","text":"t"},{"uri":"a:c","blob":"AA=="}]}',
  prompts: '{"prompts":[{"name":"p","arguments":[{"name":"a"}]}]}',
  getPrompt: '{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}',
  complete: '{"completion":{"values":["a"],"total":1,"hasMore":false}}',
};
const others = [
  '{"resultType":"input_required","inputRequests":{"1":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}}},"requestState":"s"}',
  '{"resultType":"input_required","inputRequests":{"1":{"method":"roots/list"},"2":{"method":"sampling/createMessage","params":{}}}}',
  '{"resultType":"input_required"}',
  '{"resultType":"x"}',
  '{"resultType":"task","taskId":"t","status":"completed","ttlMs":null,"pollIntervalMs":0,"result":{"content":[]}}',
  '{"resultType":"task","taskId":"t","status":"working"}',
  '{"nextCursor":"c"}',
];
const errors = [
  '{"code":-32602,"message":"x"}',
  '{"code":-32042,"message":"x","data":{"elicitations":[{}]}}',
  '{"code":-32021,"message":"x","data":1}',
  "{}",
  "1",
];
const requests = [
  ...["ping", "elicitation/create", "sampling/createMessage", "roots/list", "tasks/get", "x"],
];

function answer(random: Random, ask: Input["ask"]): string {
  const result = (json: string): string => `{"jsonrpc":"2.0","id":§id,"result":${json}}`;
  switch (random.below(7)) {
    case 0:
      return `{"jsonrpc":"2.0","id":§id,"error":${random.pick(errors)}}`;
    case 1:
      return mutated(random, result(jsonText(random, 2)), 4);
    case 2:
      return result(oddly(random, random.pick(others)));
    case 3: {
      const form = '{"message":"?","requestedSchema":{"type":"object","properties":{}}}';
      const params = random.oneIn(2) ? jsonText(random, 1) : form;
      const request = `{"jsonrpc":"2.0","id":7,"method":"${random.pick(requests)}","params":${params}}`;
      return `[${request},${result(shapes[ask])}]`;
    }
    default:
      return result(oddly(random, shapes[ask]));
  }
}
