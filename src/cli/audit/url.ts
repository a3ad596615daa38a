import { createClient, ErrorCode, RpcError } from "callwire";
import { Failure, oneLine } from "../failure.ts";
import { linkFromUrl, mustCarryAnyText } from "../link-from-url.ts";
import { anonymousDestruction, type Finding, isDestructive, noAuthentication } from "./finding.ts";
import { type AskAt, findingsBeside } from "./neighbours.ts";
import { type Answer, type Probe, probe } from "./probe.ts";

const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/i;
/** Nobody has such a method. */
const unknownName = "callwire-audit/no-such-method";
const stranger = "https://stranger.example";
const manyCalls = 500;

function call(method: string, id = 1): string {
  return JSON.stringify({ jsonrpc: "2.0", method, id });
}

/** What a running server lacks, as a stranger sees it. No method of its own is called. */
export async function findingsOfUrl(address: string, timeoutMs: number): Promise<Finding[]> {
  mustCarryAnyText(address);
  const [, scheme = ""] = /^([a-z]+):/.exec(address) ?? [];
  if (scheme === "stdio" || scheme === "unix") return byCalling(address, timeoutMs, "low");
  const url = new URL(address);
  const isLocal = loopback.test(url.hostname);
  const plain = ["http", "ws", "tcp"].includes(scheme) && !isLocal ? [noTls] : [];
  const severity = isLocal ? "medium" : "high";
  if (scheme === "tcp" || scheme === "tls") {
    return [...plain, ...(await byCalling(address, timeoutMs, severity))];
  }
  const http = new URL(address.replace(/^ws/, "http"));
  const ask: AskAt = (path, question) => askAt(new URL(path, http), timeoutMs, question);
  return [
    ...plain,
    ...(await byProbing(http, ask, severity)),
    ...(await findingsBeside(ask, isLocal)),
  ];
}

const noTls: Finding = {
  severity: "high",
  what: "no TLS: whoever is in between reads credentials and changes calls",
  fix: "serveHttp(server, { tls: { cert, key } }), or a proxy that speaks TLS",
};

async function byCalling(
  address: string,
  timeoutMs: number,
  severity: Finding["severity"],
): Promise<Finding[]> {
  await using client = createClient(await linkFromUrl(address), { timeoutMs });
  try {
    await client.call(unknownName);
  } catch (error) {
    if (!(error instanceof RpcError)) throw unreachable(address, error);
    if (isRefused(error.code)) return [];
  }
  return [{ severity, ...noAuthentication }];
}

function isRefused(code: number | undefined): boolean {
  return code === ErrorCode.Unauthenticated || code === ErrorCode.Forbidden;
}

function unreachable(address: string, error: unknown): Failure {
  return new Failure(`${address}: ${oneLine(error)}`, { cause: error, exitCode: 3 });
}

async function askAt(url: URL, timeoutMs: number, question: Probe): Promise<Answer> {
  try {
    return await probe(url, timeoutMs, question);
  } catch (error) {
    throw unreachable(url.href, error);
  }
}

async function byProbing(
  url: URL,
  askAt: AskAt,
  severity: Finding["severity"],
): Promise<Finding[]> {
  const ask = (question: Probe): Promise<Answer> => askAt(url.href, question);
  const first = await ask({ body: call(unknownName) });
  const isJsonRpc = first.code !== undefined || first.status === 401 || first.status === 403;
  if (!isJsonRpc) throw new Failure(`${url.href} does not answer as JSON-RPC`, { exitCode: 1 });
  const findings: Finding[] = [];
  const isAnonymous = first.status !== 401 && first.status !== 403 && !isRefused(first.code);
  if (isAnonymous) {
    findings.push({ severity, ...noAuthentication });
    const open = await destructiveMethods(ask);
    if (open.length > 0) findings.push(anonymousDestruction(open));
  }
  if (first.headers.ratelimit === undefined && first.status !== 429) findings.push(noRateLimit);
  for (const { question, isSafe, finding } of questions) {
    if (!isSafe(await ask(question))) findings.push(finding);
  }
  return findings;
}

async function destructiveMethods(ask: (probe: Probe) => Promise<Answer>): Promise<string[]> {
  const { text } = await ask({ body: call("rpc.discover") });
  try {
    const { result } = JSON.parse(text) as {
      result?: { methods?: { name?: unknown; tags?: { name?: unknown }[] }[] };
    };
    return (result?.methods ?? []).flatMap(({ name, tags = [] }) => {
      const named = tags.map((tag) => `${tag.name}`);
      return typeof name === "string" && isDestructive(name, named) ? [name] : [];
    });
  } catch {
    return [];
  }
}

const noRateLimit: Finding = {
  severity: "medium",
  what: "no sign of a rate limit",
  fix: "use: [rateLimit({ capacity: 200, perSecond: 100 })]",
};

interface Question {
  readonly question: Probe;
  readonly isSafe: (answer: Answer) => boolean;
  readonly finding: Finding;
}

const questions: readonly Question[] = [
  {
    question: { headers: { host: "stranger.example" }, body: call(unknownName) },
    isSafe: ({ status }) => status >= 400 && status !== 401,
    finding: {
      severity: "medium",
      what: "it goes by any name: a page can reach it by rebinding a name of its own",
      fix: 'list its names: serveHttp(server, { hosts: ["api.example"] })',
    },
  },
  {
    question: { headers: { origin: stranger }, body: call(unknownName) },
    isSafe: ({ status }) => status === 403,
    finding: {
      severity: "high",
      what: "pages of any site may call it on behalf of their visitors",
      fix: 'list the origins of your own pages: origins: ["https://app.example"]',
    },
  },
  {
    question: {
      method: "OPTIONS",
      headers: { origin: stranger, "access-control-request-method": "POST" },
    },
    isSafe: ({ headers }) => headers["access-control-allow-origin"] === undefined,
    finding: {
      severity: "high",
      what: "CORS lets pages of any site read its replies",
      fix: 'no wildcard: origins: ["https://app.example"]',
    },
  },
  {
    question: { headers: { "content-type": "text/plain" }, body: call(unknownName) },
    isSafe: ({ status }) => status >= 400,
    finding: {
      severity: "medium",
      what: "it takes text/plain for JSON, which a form of any site can send",
      fix: "answer other content types than application/json with 415",
    },
  },
  {
    question: {
      body: `[${Array.from({ length: manyCalls }, (_, id) => call(unknownName, id)).join(",")}]`,
    },
    isSafe: ({ text, status }) => !text.trimStart().startsWith("[") || status >= 400,
    finding: {
      severity: "medium",
      what: `it answers a batch of ${manyCalls} calls`,
      fix: "leave limits.maxBatch at its default of 100",
    },
  },
  {
    question: {
      body: `{"jsonrpc":"2.0","method":"${unknownName}","method":"${unknownName}","id":1}`,
    },
    isSafe: ({ code, status }) => code === ErrorCode.InvalidRequest || status === 401,
    finding: {
      severity: "low",
      what: "it takes a message in which a member stands twice, of which others may read the other one",
      fix: "refuse duplicate members with -32600",
    },
  },
];
