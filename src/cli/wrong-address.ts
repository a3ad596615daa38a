import { connect } from "node:tls";
import { ErrorCode, isRpcError, WireError } from "callwire";
import { Failure } from "./failure.ts";
import { isAnswered, isNotEndpoint, unknownMethod } from "./inspect/prober.ts";
import { parsed } from "./json-values.ts";
import { isHttpUrl } from "./link-from-url.ts";
import { rawWireFromUrl } from "./raw-wire.ts";

type Headers = Readonly<Record<string, string>>;

/** The failure for a wrong address, with the right one if it is found; undefined if the address is right. */
export async function wrongAddress(
  url: string,
  error: unknown,
  headers: Headers = {},
): Promise<Failure | undefined> {
  if (errorsOf(error).some(({ message }) => notTls.test(message))) return withoutTls(url, error);
  if (errorsOf(error).some(({ code }) => hungUp.test(`${code}`)) && (await usesTls(url)))
    return withTls(url, error);
  if (/^wss?:/.test(url) && errorsOf(error).some(({ code }) => /^HPE_/.test(`${code}`)))
    return withoutHttp(url, error);
  if (/^(tcp|tls):/.test(url) && errorsOf(error).some(({ code }) => hungUp.test(`${code}`)))
    return overHttp(url, headers, error);
  if (!/^(http|ws)s?:/.test(url) || !mayBeWrongPath(url, error)) return undefined;
  const here = await probe(url.replace(/^ws/, "http"), headers);
  return here !== undefined && isNotEndpoint(here.status) && !here.isEndpoint
    ? nothingAt(url, here.status, headers, error)
    : undefined;
}

export async function nothingAt(
  url: string,
  status: number,
  headers: Headers = {},
  cause?: unknown,
): Promise<Failure> {
  const advice = await pathAdvice(url, headers);
  return new Failure(`${url}: no JSON-RPC endpoint at this path (HTTP ${status}); ${advice}`, {
    cause,
    exitCode: isHttpUrl(url) ? 1 : 3,
    report: { code: "HTTP_STATUS" },
  });
}

/** Suggests the path of an endpoint, if one is found. */
export async function pathAdvice(url: string, headers: Headers = {}): Promise<string> {
  const found = await rightPath(url, headers);
  return found === undefined ? "check the path" : `try ${found}`;
}

/** Whether an error may come from a wrong path. An open WebSocket proves its path right. */
function mayBeWrongPath(url: string, error: unknown): boolean {
  if (isRpcError(error)) return isHttpUrl(url) && error.code === ErrorCode.InvalidRequest;
  if (!(error instanceof WireError)) return false;
  const isRefusedUpgrade = !isHttpUrl(url) && (error.status === 400 || error.status === 426);
  return isNotEndpoint(error.status) || isRefusedUpgrade;
}

const usualPaths = ["/rpc", "/jsonrpc", "/", "/api", "/api/rpc"];

async function rightPath(url: string, headers: Headers): Promise<string | undefined> {
  const { origin, pathname } = new URL(url.replace(/^ws/, "http"));
  for (const path of usualPaths) {
    if (path === pathname) continue;
    const answer = await probe(origin + path, headers);
    if (answer?.isEndpoint) return origin.replace(/^http/, isHttpUrl(url) ? "http" : "ws") + path;
  }
  return undefined;
}

interface Answer {
  readonly status: number;
  readonly isEndpoint: boolean;
}

/** How an HTTP server answers a call of an unknown method; undefined if it does not. */
async function probe(url: string, headers: Headers): Promise<Answer | undefined> {
  const wire = await rawWireFromUrl(url, { headers });
  const request = { jsonrpc: "2.0", method: unknownMethod, id: 1 };
  try {
    const { text, http } = await wire.ask(JSON.stringify(request), { timeoutMs: 2000 });
    if (http === undefined) return undefined;
    return { status: http.status, isEndpoint: isAnswered({ payload: parsed(text), http }) };
  } catch {
    return undefined;
  } finally {
    await wire.close();
  }
}

/** OpenSSL's numbers for bytes that are not TLS: wrong version, packet too long, HTTP request. */
const notTls = /:error:0A00(010B|00C6|009C):/;

/** Codes of Node and its `fetch` for a connection that the server closed. */
const hungUp = /^(ECONNRESET|EPIPE|UND_ERR_SOCKET|CONNECTION_LOST)$/;

function errorsOf(error: unknown): (Error & { readonly code?: unknown })[] {
  return error instanceof Error ? [error, ...errorsOf(error.cause)] : [];
}

async function withoutTls(url: string, cause: unknown): Promise<Failure> {
  const plain = url.replace(/^(http|ws)s:/, "$1:").replace(/^tls:/, "tcp:");
  // Without the headers: credentials must not be sent in plain text to an attacker who blocks TLS.
  const isHttp =
    /^(http|ws):/.test(plain) && (await probe(plain.replace(/^ws/, "http"), {})) !== undefined;
  const what = isHttp ? "the port serves plain HTTP" : "the port does not use TLS";
  const options = { cause, exitCode: 3, report: { code: "NOT_TLS" } } as const;
  return new Failure(`${url}: ${what}; try ${plain}`, options);
}

/** The failure for a WebSocket to a port whose reply Node's HTTP parser rejected. */
function withoutHttp(url: string, cause: unknown): Failure {
  const { protocol, host } = new URL(url);
  const socket = `${protocol === "ws:" ? "tcp" : "tls"}://${host}`;
  const options = { cause, exitCode: 3, report: { code: "NOT_HTTP" } } as const;
  return new Failure(`${url}: the server does not speak HTTP; try ${socket}`, options);
}

/** The failure for a socket to a port that speaks HTTP; undefined for other ports. */
async function overHttp(
  url: string,
  headers: Headers,
  cause: unknown,
): Promise<Failure | undefined> {
  const http = url.replace(/^tcp:/, "http:").replace(/^tls:/, "https:");
  const here = await probe(http, headers);
  if (here === undefined) return undefined;
  const path = here.isEndpoint ? http : await rightPath(http, headers);
  const options = { cause, exitCode: 3, report: { code: "NEEDS_HTTP" } } as const;
  return new Failure(`${url}: the port speaks HTTP; try ${path ?? http}`, options);
}

/** Whether the port of a plain address uses TLS, with any certificate. */
function usesTls(url: string): Promise<boolean> {
  const [, , host = "", port = "80"] =
    /^(http|ws|tcp):\/\/(?:[^/@]*@)?(\[[^\]]+\]|[^/:?#]+)(?::(\d+))?/.exec(url) ?? [];
  if (host === "") return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect({
      host: host.replace(/^\[|\]$/g, ""),
      port: Number(port),
      rejectUnauthorized: false,
      timeout: 2000,
    });
    const answer = (uses: boolean) => () => {
      socket.destroy();
      resolve(uses);
    };
    socket.on("secureConnect", answer(true)).on("error", answer(false));
    socket.on("timeout", answer(false)).on("close", answer(false));
  });
}

function withTls(url: string, cause: unknown): Failure {
  const secure = url.replace(/^(http|ws):/, "$1s:").replace(/^tcp:/, "tls:");
  const options = { cause, exitCode: 3, report: { code: "NEEDS_TLS" } } as const;
  return new Failure(`${url}: the port uses TLS; try ${secure}`, options);
}
