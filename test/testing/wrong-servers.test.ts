import { createServer, silentLog } from "callwire";
import {
  type ConformanceReport,
  type ConformanceWire,
  conformanceGroups,
  type ExchangeAnswer,
  type ExchangeRequest,
  type ExchangeWire,
  runConformance,
} from "callwire/testing";
import { describe, expect, test } from "vitest";
import { methods } from "../../examples/demo/methods.ts";
import { memoryLine } from "./memory-line.ts";

// A check that cannot fail is worse than none: for each group of cases, a server that is wrong in
// its own way.

const server = createServer(methods, { log: silentLog });

async function rightAnswer({ body }: ExchangeRequest): Promise<ExchangeAnswer> {
  const text = await server.receive(
    typeof body === "string" ? body : new TextDecoder().decode(body),
  );
  const headers = { "content-type": "application/json" };
  return text === undefined
    ? { status: 204, headers: {}, body: "" }
    : { status: 200, headers, body: text };
}

/** A wire to a server of its own, which answers correctly except for what `change` does. */
function wireTo(
  change: (answer: ExchangeAnswer, request: ExchangeRequest) => ExchangeAnswer,
  abilities: ExchangeWire["abilities"] = new Set(),
): ExchangeWire {
  return {
    kind: "exchange",
    name: "memory",
    address: "memory:",
    abilities,
    exchange: async (request) => change(await rightAnswer(request), request),
  };
}

/** Changes the contents of each response, also in a batch. */
function eachReply(change: (reply: Record<string, unknown>) => unknown): ExchangeWire {
  return wireTo((answer) => {
    if (answer.body === "") return answer;
    const value = JSON.parse(answer.body);
    const changed = Array.isArray(value) ? value.map(change) : change(value);
    return { ...answer, body: JSON.stringify(changed) };
  });
}

/** The answer to the same text if it were this. */
function readAs(change: (text: string) => string): ExchangeWire {
  return {
    ...wireTo((answer) => answer),
    exchange: ({ body, ...request }) => rightAnswer({ ...request, body: change(String(body)) }),
  };
}

function failed({ results }: ConformanceReport): string[] {
  return results.flatMap(({ case: { id }, outcome }) => (outcome === "failed" ? [id] : []));
}

async function failedIn(wire: ConformanceWire, group: string): Promise<string[]> {
  // Correct answers are there at once; only what never arrives is waited for.
  const report = await runConformance(wire, { timeoutMs: 50 });
  return failed(report).filter((id) => id.startsWith(`${group}/`));
}

const wrong: readonly [group: string, what: string, wire: ExchangeWire, ids: string[]][] = [
  [
    "core",
    "answers notifications",
    wireTo((answer) =>
      answer.body === ""
        ? { ...answer, status: 200, body: '{"jsonrpc":"2.0","result":null,"id":null}' }
        : answer,
    ),
    [
      "core/notification",
      "core/notification-unknown",
      "core/notification-fails",
      "core/notification-params",
    ],
  ],
  [
    "core",
    "leaves out results that are falsy",
    eachReply(({ result, ...rest }) => (result ? { ...rest, result } : rest)),
    ["core/falsy-results"],
  ],
  [
    "ids",
    "takes falsy ids for none",
    eachReply(({ id, ...rest }) => ({ ...rest, id: id || null })),
    // As the answers are parsed to change them, digits are lost too.
    ["ids/zero", "ids/empty-string", "ids/beyond-double"],
  ],
  ["ids", "reads ids as doubles", eachReply((reply) => reply), ["ids/beyond-double"]],
  [
    "params",
    "takes anything for params",
    readAs((text) => text.replace(/"params":("bar"|[01]|true|false|null)/, '"params":[]')),
    ["params/string", "params/number", "params/boolean", "params/null"],
  ],
  [
    "versions",
    "does not look at the version",
    readAs((text) => text.replace(/"jsonrpc":(null|2\.0|"[^"]*"|\[[^\]]*\])/, '"jsonrpc":"2.0"')),
    ["versions/other", "versions/number", "versions/null", "versions/array", "versions/without-id"],
  ],
  [
    "batch",
    "answers a batch of one with an object",
    wireTo((answer) => {
      const value = answer.body === "" ? undefined : JSON.parse(answer.body);
      const one = Array.isArray(value) && value.length === 1;
      return one ? { ...answer, body: JSON.stringify(value[0]) } : answer;
    }),
    [
      "batch/one-call",
      "batch/big-id",
      "batch/number",
      "batch/null",
      "batch/string",
      "batch/empty-object",
      "batch/empty-array",
      "batch/nested",
      "batch/notification-and-junk",
    ],
  ],
  [
    "errors",
    "tells what went wrong inside",
    wireTo((answer, { body }) => ({
      ...answer,
      body: answer.body.replace('"Internal error"', JSON.stringify(`Error: ${body}`)),
    })),
    ["errors/failure-text"],
  ],
  [
    "limits",
    "takes messages of any size",
    readAs((text) => (text.length > 1_000_000 ? '{"jsonrpc":"2.0","method":"x","id":1}' : text)),
    ["limits/oversize"],
  ],
  [
    "limits",
    "is silent about what is nested too deep",
    {
      ...wireTo((answer) => answer),
      exchange: (request, signal) =>
        String(request.body).includes("[[[[")
          ? new Promise((_, reject) => {
              signal.addEventListener("abort", () => reject(signal.reason));
            })
          : rightAnswer(request),
    },
    ["limits/deep", "limits/deep-unclosed"],
  ],
  [
    "http",
    "answers with a page and a status of its own",
    wireTo(
      (answer) => ({ ...answer, status: 500, headers: { "content-type": "text/html" } }),
      new Set(["http"]),
    ),
    // Its bytes are decoded with replacements for what is not UTF-8.
    ["http/status", "http/content-type", "http/notification-status", "http/not-utf8"],
  ],
  [
    "security",
    "lets everybody call",
    {
      ...wireTo(
        (answer) => ({
          ...answer,
          headers: { ...answer.headers, "access-control-allow-origin": "*" },
        }),
        new Set(["http", "raw-http", "loopback"]),
      ),
      places: { host: "localhost", path: "/", headers: "" },
      raw: async () => [
        await rightAnswer({
          verb: "POST",
          headers: {},
          body: '{"jsonrpc":"2.0","method":"x","id":1}',
        }),
      ],
    },
    [
      "security/text-plain",
      "security/text-plain-disguised",
      "security/form",
      "security/no-type",
      "security/get-call",
      "security/foreign-origin",
      "security/foreign-host",
    ],
  ],
];

describe("the kit finds out", () => {
  test.each(wrong)("in the group %s a server that %s", async (group, _, wire, ids) => {
    expect(await failedIn(wire, group)).toEqual(ids);
  });

  test("in the group framing a server that takes each chunk for a message", async () => {
    const wire = memoryLine(async (chunk, listener) => {
      const reply = await server.receive(chunk);
      if (reply !== undefined) listener.message(reply);
    });
    const report = await runConformance(wire, { groups: ["framing"], timeoutMs: 50 });
    expect(failed(report)).toEqual(
      expect.arrayContaining(["framing/pieces", "framing/together", "framing/across"]),
    );
  });

  test("in every group, with these servers", () => {
    const groups = new Set([...wrong.map(([group]) => group), "framing"]);
    expect([...groups].sort()).toEqual([...conformanceGroups].sort());
  });

  test("no fault in the correct server behind them", async () => {
    const report = await runConformance(wireTo((answer) => answer));
    expect(failed(report)).toEqual([]);
    expect(report.ok).toBe(true);
  });
});
