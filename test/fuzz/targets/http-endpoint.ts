import { mcpFetchHandler } from "../../../src/mcp/server/http/mcp-fetch.ts";
import { mcpServer } from "../../../src/mcp/server/mcp-server.ts";
import { silentLog } from "../../../src/protocol/log.ts";
import { stream } from "../../../src/server/method.ts";
import { createServer } from "../../../src/server/server.ts";
import { fetchHandler } from "../../../src/transports/http/fetch-handler.ts";
import { jsonText } from "../json.ts";
import type { Random } from "../random.ts";
import { broken, fuzzTarget } from "../target.ts";
import { payload } from "./answer.ts";

const service = createServer(
  {
    echo: (...params: unknown[]) => params,
    later: async () => "later",
    count: stream({}, async function* () {
      yield 1;
      yield 2;
    }),
  },
  { log: silentLog, overload: false },
);
const agents = mcpServer(
  { echo: (value: unknown) => `${typeof value}` },
  { name: "test", version: "1", log: silentLog, overload: false },
);
const handlers = {
  rpc: fetchHandler(service, { hosts: ["localhost"] }),
  mcp: mcpFetchHandler(agents, { hosts: ["localhost"] }),
};

interface Input {
  readonly to: keyof typeof handlers;
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  /** Latin-1. */
  readonly body: string;
}

/** HTTP requests of clients or attackers, after they have passed the parser of the platform. */
export const httpEndpoint = fuzzTarget<Input>({
  holds:
    "each request has a response whose status is not the server's fault (500); a plain POST has the reply that the same text has without HTTP; a foreign Host or Origin gets no result",
  briefly: 1_500,
  reaches: ["200", "2xx", "4xx"],
  generate: (random) => ({
    to: random.oneIn(3) ? "mcp" : "rpc",
    method: random.oneIn(5)
      ? random.pick(["GET", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"])
      : "POST",
    path: random.oneIn(4) ? queryOf(random) : "/rpc",
    headers: headersOf(random),
    body: bodyOf(random),
  }),
  async check({ to, method, path, headers, body }) {
    const sent = new Headers();
    for (const [name, value] of headers) {
      try {
        sent.append(name, value);
      } catch {
        // The platform does not let such a header through.
      }
    }
    const hasBody = method !== "GET" && method !== "HEAD";
    const request = new Request(`http://localhost${path}`, {
      method,
      headers: sent,
      ...(hasBody && { body: Buffer.from(body, "latin1") }),
    });
    const response = await handlers[to](request);
    const { status } = response;
    if (status >= 500 && status !== 503) broken("the server is at fault", { status });
    // A subscription lasts until its client leaves.
    const isLasting =
      to === "mcp" && /event-stream/.test(response.headers.get("content-type") ?? "");
    const text = isLasting ? await response.body?.cancel() : await response.text();
    const isForeign = ["host", "origin"].some((name) => /evil/.test(sent.get(name) ?? ""));
    const isAllowed = response.headers.has("access-control-allow-origin");
    if (isForeign && (isAllowed || (status < 300 && method !== "OPTIONS"))) {
      broken("a foreign page got a result", { status, text });
    }
    const isPlain = to === "rpc" && path === "/rpc" && method === "POST" && isUsual(headers);
    const message = Buffer.from(body, "latin1").toString();
    if (isPlain && status === 200 && latin(message) === body) {
      const wanted = await service.receive(message);
      if (text !== wanted) broken("another reply", { text, wanted });
    }
    if (status === 200) return "200";
    return status < 300 ? "2xx" : "4xx";
  },
});

function isUsual(headers: Input["headers"]): boolean {
  return headers.every(([name, value]) => value === "application/json" || name === "x-a");
}

const headerNames = [
  ...["host", "origin", "accept", "content-type", "content-encoding", "content-length", "x-a"],
  ...[
    "last-event-id",
    "mcp-session-id",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "cookie",
  ],
  ...["timeout-ms", "traceparent", "sec-fetch-site", "rpc-attachments", "__proto__", "signature"],
  ...["signature-input", "transfer-encoding", "authorization", "x-forwarded-for"],
];
const headerValues = [
  ...["", "x", "1", "-1", "1e9", "evil.example", "http://evil.example", "null", "localhost"],
  ...["http://localhost", "application/json", "text/event-stream", "application/json;q=0", "*/*"],
  ...["text/plain", "application/json; charset=latin1", "multipart/form-data; boundary=b", "gzip"],
  ...["application/x-ndjson", "2025-11-25", "2026-07-28", "tools/call", "=?base64?AA==?=", "br"],
  ...[
    "cross-site",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "sig=:AA==:",
    ",",
    "\xff",
  ],
];

function headersOf(random: Random): Input["headers"] {
  const others = random.some(
    4,
    () => [random.pick(headerNames), random.pick(headerValues)] as const,
  );
  const accepts = "application/json, text/event-stream";
  const usual = random.oneIn(12) ? [] : [["content-type", "application/json"] as const];
  const accept = random.oneIn(2) ? [] : [["accept", accepts] as const];
  return random.oneIn(2) ? [...usual, ...accept] : [...usual, ...accept, ...others];
}

const mcpMethods = ["initialize", "ping", "tools/list", "tools/call", "server/discover", "nothing"];

function bodyOf(random: Random): string {
  if (random.oneIn(12))
    return random.pick(["", "\xff", "\xef\xbb\xbf{}", "--b--", "\x1f\x8b", "{}\n{}\n"]);
  if (random.oneIn(3)) {
    const params = random.oneIn(3)
      ? jsonText(random, 2)
      : '{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"},"name":"echo","arguments":{"value":1}}';
    return latin(
      `{"jsonrpc":"2.0","id":1,"method":"${random.pick(mcpMethods)}","params":${params}}`,
    );
  }
  return latin(payload(random));
}

/** UTF-8 as Latin-1. */
function latin(text: string): string {
  return Buffer.from(text).toString("latin1");
}

function queryOf(random: Random): string {
  const names = ["method", "id", "params", "a", "__proto__", "constructor", ""];
  const values = [
    "echo",
    "count",
    "later",
    "1",
    "[1]",
    '{"a":1}',
    "{",
    "true",
    "1e400",
    "%zz",
    "%00",
  ];
  const members = random.some(4, () => `${random.pick(names)}=${random.pick(values)}`);
  return `${random.pick(["/rpc", "/rpc/stream", "/"])}?${members.join("&")}`;
}
