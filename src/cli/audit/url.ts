import { createClient, ErrorCode, RpcError, WireError } from "callwire";
import { explainFailure } from "../call-failure.ts";
import { Failure, oneLine } from "../failure.ts";
import { isNotEndpoint } from "../inspect/prober.ts";
import { type LinkOptions, linkFromUrl, notAnAddress, refuseNats } from "../link-from-url.ts";
import { hasAuthorization } from "../server-options.ts";
import { nothingAt } from "../wrong-address.ts";
import { type Answer, type AskAt, findingsOfOtherEndpoints, type Probe, probe } from "./probes.ts";
import {
  anonymousDestruction,
  anyName,
  anyOrigin,
  type Finding,
  isDestructive,
  noAuthentication,
} from "./server.ts";

const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/i;
const unknownName = "callwire-audit/no-such-method";
const foreignHost = "stranger.example";
const foreignOrigin = `https://${foreignHost}`;
const manyCalls = 500;

function call(method: string, id = 1): string {
  return JSON.stringify({ jsonrpc: "2.0", method, id });
}

export interface AuditOptions extends Pick<LinkOptions, "headers" | "framing"> {
  readonly timeoutMs: number;
}

/**
 * Audits a running server without calling its methods. What an anonymous client can do is tried without `headers`;
 * all else with them, because a server that requires authentication would reject it before anything else.
 */
export async function findingsOfUrl(address: string, options: AuditOptions): Promise<Finding[]> {
  refuseNats(address);
  const [, scheme = ""] = /^([a-z]+):/.exec(address) ?? [];
  if (scheme === "stdio" || scheme === "unix") return byCalling(address, options, "low");
  if (!URL.canParse(address)) throw notAnAddress(address);
  const url = new URL(address);
  if (url.username + url.password !== "")
    throw new Failure("audit connects anonymously; remove the user before the @");
  const isLocal = loopback.test(url.hostname);
  const plain = ["http", "ws", "tcp"].includes(scheme) && !isLocal ? [noTls] : [];
  const severity = isLocal ? "medium" : "high";
  if (scheme === "tcp" || scheme === "tls") {
    return [...plain, ...(await byCalling(address, options, severity))];
  }
  const http = new URL(address.replace(/^ws/, "http"));
  const { headers = {}, timeoutMs } = options;
  const ask: AskAt = (path, question) => askAt(new URL(path, http), timeoutMs, question);
  const askAnonymously = (question: Probe): Promise<Answer> => ask(http.href, question);
  const askAllowed = (question: Probe): Promise<Answer> =>
    ask(http.href, { ...question, headers: { ...headers, ...question.headers } });
  const first = await askAnonymously({ body: call(unknownName) });
  const own = takesCalls(first)
    ? [
        ...(await asAnonymous(first, askAnonymously, severity)),
        ...(await byAsking(askAllowed, hasAuthorization(headers))),
      ]
    : await byWebSocket(address, options, severity, first.status);
  return [...plain, ...own, ...(await findingsOfOtherEndpoints(ask, isLocal))];
}

const noTls: Finding = {
  severity: "high",
  what: "no TLS: the network can read credentials and change calls",
  fix: "serveHttp(server, { tls: { cert, key } }), or a proxy with TLS",
};

async function byCalling(
  address: string,
  { timeoutMs, framing }: AuditOptions,
  severity: Finding["severity"],
): Promise<Finding[]> {
  return (await allows(address, timeoutMs, { framing })) ? [{ severity, ...noAuthentication }] : [];
}

/** The path may accept WebSockets even if it rejects HTTP calls. */
async function byWebSocket(
  address: string,
  options: AuditOptions,
  severity: Finding["severity"],
  status: number,
): Promise<Finding[]> {
  if (!address.startsWith("ws")) {
    if (isNotEndpoint(status)) throw await nothingAt(address, status);
    throw new Failure(`${address} does not answer with JSON-RPC`, { exitCode: 1 });
  }
  const accepts = (headers: Readonly<Record<string, string>>): Promise<boolean> =>
    allows(address, options.timeoutMs, { headers: { ...options.headers, ...headers } }).catch(
      () => false,
    );
  const findings = await byCalling(address, options, severity);
  if (await accepts({ host: foreignHost })) findings.push(anyName);
  if (await accepts({ origin: foreignOrigin })) findings.push(anyOrigin);
  return findings;
}

/** Whether a call gets past authentication. */
async function allows(address: string, timeoutMs: number, options: LinkOptions): Promise<boolean> {
  await using client = createClient(await linkFromUrl(address, options), { timeoutMs });
  try {
    await client.call(unknownName);
    return true;
  } catch (error) {
    if (error instanceof RpcError) return !isRefused(error.code);
    if (error instanceof WireError && isUnauthorized(error.status)) return false;
    throw await explainFailure({ url: address }, error);
  }
}

function isRefused(code: number | undefined): boolean {
  return code === ErrorCode.Unauthenticated || code === ErrorCode.Forbidden;
}

async function askAt(url: URL, timeoutMs: number, question: Probe): Promise<Answer> {
  try {
    return await probe(url, timeoutMs, question);
  } catch (error) {
    throw new Failure(`${url.href}: ${oneLine(error)}`, { cause: error, exitCode: 3 });
  }
}

function isUnauthorized(status: number | undefined): boolean {
  return status === 401 || status === 403;
}

/** Some servers answer 404 for an unknown method. */
function takesCalls({ status, code }: Answer): boolean {
  if (isNotEndpoint(status)) return code === ErrorCode.MethodNotFound;
  return code !== undefined || isUnauthorized(status);
}

async function asAnonymous(
  first: Answer,
  ask: (question: Probe) => Promise<Answer>,
  severity: Finding["severity"],
): Promise<Finding[]> {
  if (isUnauthorized(first.status) || isRefused(first.code)) return [];
  const open = await destructiveMethods(ask);
  return [
    { severity, ...noAuthentication },
    ...(open.length > 0 ? [anonymousDestruction(open)] : []),
  ];
}

async function byAsking(
  ask: (question: Probe) => Promise<Answer>,
  hasCredential: boolean,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const first = await ask({ body: call(unknownName) });
  if (hasCredential && (first.status === 401 || first.code === ErrorCode.Unauthenticated))
    throw new Failure("the server rejects the credential", { exitCode: 1 });
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
  what: "no rate limit headers",
  fix: "use: [rateLimit({ capacity: 200, perSecond: 100 })]",
};

interface Question {
  readonly question: Probe;
  readonly isSafe: (answer: Answer) => boolean;
  readonly finding: Finding;
}

const questions: readonly Question[] = [
  {
    question: { headers: { host: foreignHost }, body: call(unknownName) },
    isSafe: ({ status }) => status >= 400 && status !== 401,
    finding: anyName,
  },
  {
    question: { headers: { origin: foreignOrigin }, body: call(unknownName) },
    isSafe: ({ status }) => status === 403,
    finding: anyOrigin,
  },
  {
    question: {
      method: "OPTIONS",
      headers: { origin: foreignOrigin, "access-control-request-method": "POST" },
    },
    isSafe: ({ headers }) => headers["access-control-allow-origin"] === undefined,
    finding: {
      severity: "high",
      what: "CORS allows pages of any site to read replies",
      fix: 'list your origins instead of a wildcard: origins: ["https://app.example"]',
    },
  },
  {
    question: { headers: { "content-type": "text/plain" }, body: call(unknownName) },
    isSafe: ({ status }) => status >= 400,
    finding: {
      severity: "medium",
      what: "accepts text/plain, which a form of any site can send",
      fix: "reject content types other than application/json with 415",
    },
  },
  {
    question: {
      body: `[${Array.from({ length: manyCalls }, (_, id) => call(unknownName, id)).join(",")}]`,
    },
    isSafe: ({ text, status }) => !text.trimStart().startsWith("[") || status >= 400,
    finding: {
      severity: "medium",
      what: `accepts a batch of ${manyCalls} calls`,
      fix: "keep limits.maxBatch at its default of 100",
    },
  },
  {
    question: {
      body: `{"jsonrpc":"2.0","method":"${unknownName}","method":"${unknownName}","id":1}`,
    },
    isSafe: ({ code, status }) => code === ErrorCode.InvalidRequest || status === 401,
    finding: {
      severity: "low",
      what: "accepts duplicate members, which parsers read differently",
      fix: "reject duplicate members with -32600",
    },
  },
];
