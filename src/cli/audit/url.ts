import { createClient, ErrorCode, RpcError, WireError } from "callwire";
import { explainedFailure } from "../call-failure.ts";
import { Failure, oneLine } from "../failure.ts";
import { isNowhere } from "../inspect/prober.ts";
import { linkFromUrl, mustCarryAnyText } from "../link-from-url.ts";
import { nothingAt } from "../wrong-address.ts";
import { type Answer, type AskAt, findingsBeside, type Probe, probe } from "./probes.ts";
import {
  anonymousDestruction,
  anyName,
  anyOrigin,
  type Finding,
  isDestructive,
  noAuthentication,
} from "./server.ts";

const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/i;
/** Nobody has such a method. */
const unknownName = "callwire-audit/no-such-method";
const strangeName = "stranger.example";
const stranger = `https://${strangeName}`;
const manyCalls = 500;

function call(method: string, id = 1): string {
  return JSON.stringify({ jsonrpc: "2.0", method, id });
}

/** What a running server lacks, as a stranger sees it. No method of its own is called. */
export async function findingsOfUrl(address: string, timeoutMs: number): Promise<Finding[]> {
  mustCarryAnyText(address);
  const [, scheme = ""] = /^([a-z]+):/.exec(address) ?? [];
  if (scheme === "stdio" || scheme === "unix") return byCalling(address, timeoutMs, "low");
  if (!URL.canParse(address)) throw new Failure(`${JSON.stringify(address)} is no address`);
  const url = new URL(address);
  if (url.username + url.password !== "")
    throw new Failure("audit asks as a stranger; leave out who logs in, before the @");
  const isLocal = loopback.test(url.hostname);
  const plain = ["http", "ws", "tcp"].includes(scheme) && !isLocal ? [noTls] : [];
  const severity = isLocal ? "medium" : "high";
  if (scheme === "tcp" || scheme === "tls") {
    return [...plain, ...(await byCalling(address, timeoutMs, severity))];
  }
  const http = new URL(address.replace(/^ws/, "http"));
  const ask: AskAt = (path, question) => askAt(new URL(path, http), timeoutMs, question);
  const first = await ask(http.href, { body: call(unknownName) });
  const own = takesCalls(first)
    ? await byProbing(first, (question) => ask(http.href, question), severity)
    : await byWebSocket(address, timeoutMs, severity, first.status);
  return [...plain, ...own, ...(await findingsBeside(ask, isLocal))];
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
  return (await letsIn(address, timeoutMs)) ? [{ severity, ...noAuthentication }] : [];
}

/** Where no call is taken over HTTP, a WebSocket may take some all the same. */
async function byWebSocket(
  address: string,
  timeoutMs: number,
  severity: Finding["severity"],
  status: number,
): Promise<Finding[]> {
  if (!address.startsWith("ws")) {
    if (isNowhere(status)) throw await nothingAt(address, status);
    throw new Failure(`${address} does not answer as JSON-RPC`, { exitCode: 1 });
  }
  const letsStrangerIn = (headers: Readonly<Record<string, string>>): Promise<boolean> =>
    letsIn(address, timeoutMs, headers).catch(() => false);
  const findings = await byCalling(address, timeoutMs, severity);
  if (await letsStrangerIn({ host: strangeName })) findings.push(anyName);
  if (await letsStrangerIn({ origin: stranger })) findings.push(anyOrigin);
  return findings;
}

/** Whether a call is looked at before it is known who calls. */
async function letsIn(
  address: string,
  timeoutMs: number,
  headers: Readonly<Record<string, string>> = {},
): Promise<boolean> {
  await using client = createClient(await linkFromUrl(address, { headers }), { timeoutMs });
  try {
    await client.call(unknownName);
    return true;
  } catch (error) {
    if (error instanceof RpcError) return !isRefused(error.code);
    if (error instanceof WireError && isLockedOut(error.status)) return false;
    throw await explainedFailure({ url: address }, error);
  }
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

function isLockedOut(status: number | undefined): boolean {
  return status === 401 || status === 403;
}

/** Some servers say 404 of a method that is not there. */
function takesCalls({ status, code }: Answer): boolean {
  if (isNowhere(status)) return code === ErrorCode.MethodNotFound;
  return code !== undefined || isLockedOut(status);
}

async function byProbing(
  first: Answer,
  ask: (question: Probe) => Promise<Answer>,
  severity: Finding["severity"],
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const isAnonymous = !isLockedOut(first.status) && !isRefused(first.code);
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
    question: { headers: { host: strangeName }, body: call(unknownName) },
    isSafe: ({ status }) => status >= 400 && status !== 401,
    finding: anyName,
  },
  {
    question: { headers: { origin: stranger }, body: call(unknownName) },
    isSafe: ({ status }) => status === 403,
    finding: anyOrigin,
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
