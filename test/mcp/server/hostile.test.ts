/** Whatever a client sends, it gets an answer that says what is wrong, and the server continues. */
import { silentLog } from "callwire";
import { mcpServer, prompt, resource, tool } from "callwire/mcp";
import fc from "fast-check";
import { expect, test } from "vitest";
import { envelope } from "./asking.ts";

const server = mcpServer(
  {
    add: (a: number, b: number) => a + b,
    ask: tool({ task: "optional" }, async (_, call) => {
      await call.elicit("?", { type: "object", properties: { a: { type: "string" } } });
      return "done";
    }),
  },
  {
    name: "test",
    version: "1",
    log: silentLog,
    resources: [
      resource({ uri: "test://a", read: () => "a" }),
      resource({ uriTemplate: "test://{x}/b", complete: { x: () => ["1"] }, read: ({ x }) => x }),
    ],
    prompts: { p: prompt({ arguments: [{ name: "a" }], complete: { a: () => ["1"] } }, () => "p") },
  },
);

const methods = [
  "initialize",
  "ping",
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "resources/subscribe",
  "resources/unsubscribe",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "logging/setLevel",
  "tasks/get",
  "tasks/list",
  "tasks/cancel",
  "tasks/update",
  "server/discover",
  "nothing",
  "__proto__",
];

const word = fc.constantFrom("add", "ask", "p", "test://a", "test://1/b", "__proto__", "", "x");
const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    word,
    fc.constantFrom(null, 0, -1, 1.5, true, false),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.dictionary(word, tie("any"), { maxKeys: 3 }),
  ),
})).any;

const names = ["name", "uri", "arguments", "cursor", "ref", "argument", "taskId", "level", "task"];
const states = ["inputResponses", "requestState", "protocolVersion", "capabilities", "context"];
const params = fc.dictionary(fc.constantFrom(...names, ...states, "_meta"), value, { maxKeys: 6 });
const aboutPrompt = fc.record({
  ref: fc.record({ type: fc.constantFrom("ref/prompt", "ref/resource"), name: word, uri: word }),
  argument: fc.record({ name: word, value: fc.oneof(word, value) }),
});
const capabilities = fc.constantFrom({}, { elicitation: {} }, { elicitation: 5, extensions: [] });

test("in either era, an error is never the server's own", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...methods),
      fc.oneof(params, aboutPrompt),
      fc.option(capabilities),
      async (method, sent, modern) => {
        const all = modern === null ? sent : { ...sent, _meta: envelope(modern) };
        const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: all });
        const reply = JSON.parse((await server.receive(text)) ?? "null");
        expect(reply).toMatchObject({ jsonrpc: "2.0", id: 1 });
        expect(reply.error?.code, text).not.toBe(-32603);
        expect(JSON.stringify(reply)).not.toContain("Internal error");
      },
    ),
    { numRuns: 3_000 },
  );
});
