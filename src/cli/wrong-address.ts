import { connect } from "node:tls";
import { ErrorCode, isRpcError, WireError } from "callwire";
import { Failure, oneLine } from "./failure.ts";
import { isAnswered, isNowhere, parsed, unknownMethod } from "./inspect/prober.ts";
import { isHttpUrl } from "./link-from-url.ts";
import { rawWireFromUrl } from "./raw-wire.ts";

type Headers = Readonly<Record<string, string>>;

/** What a failure says of its address, if that is what was wrong; it looks where a server may be instead. */
export async function wrongAddress(
  url: string,
  error: unknown,
  headers: Headers = {},
): Promise<Failure | undefined> {
  if (isTlsMismatch(error)) return withoutTls(url, error);
  if (wasHungUp(error) && (await speaksTls(url))) return withTls(url, error);
  if (!/^(http|ws)s?:/.test(url) || !mayBeMisplaced(url, error)) return undefined;
  const here = await asked(url.replace(/^ws/, "http"), headers);
  return here !== undefined && isNowhere(here.status) && !here.speaks
    ? nothingAt(url, here.status, headers, error)
    : undefined;
}

/** A path at which nobody takes calls, with the one that does where it is found. */
export async function nothingAt(
  url: string,
  status: number,
  headers: Headers = {},
  cause?: unknown,
): Promise<Failure> {
  const advice = await pathAdvice(url, headers);
  return new Failure(`${url}: nothing takes calls at this path (HTTP ${status}); ${advice}`, {
    cause,
    exitCode: isHttpUrl(url) ? 1 : 3,
    report: { code: "HTTP_STATUS" },
  });
}

/** Which path to try, where one is found that takes calls. */
export async function pathAdvice(url: string, headers: Headers = {}): Promise<string> {
  const found = await rightPath(url, headers);
  return found === undefined ? "is the path right?" : `try ${found}`;
}

/** What the wire says of a path, or a server of a request that is surely valid. A WebSocket that was taken is at its place. */
function mayBeMisplaced(url: string, error: unknown): boolean {
  if (isRpcError(error)) return isHttpUrl(url) && error.code === ErrorCode.InvalidRequest;
  return (
    error instanceof WireError &&
    (isNowhere(error.status) ||
      (error.code === "CONNECTION_FAILED" && refusedUpgrades.includes(error.status)))
  );
}

/** Statuses of an HTTP server that has no WebSocket at this path. */
const refusedUpgrades: readonly unknown[] = [400, 404, 405, 426];

/** Where servers usually are. */
const usualPaths = ["/rpc", "/jsonrpc", "/", "/api", "/api/rpc"];

async function rightPath(url: string, headers: Headers): Promise<string | undefined> {
  const { origin, pathname } = new URL(url.replace(/^ws/, "http"));
  for (const path of usualPaths) {
    if (path === pathname) continue;
    const answer = await asked(origin + path, headers);
    if (answer?.speaks) return origin.replace(/^http/, isHttpUrl(url) ? "http" : "ws") + path;
  }
  return undefined;
}

interface Answer {
  readonly status: number;
  readonly speaks: boolean;
}

/** What an HTTP server says to a call that it cannot have; undefined where there is none. */
async function asked(url: string, headers: Headers): Promise<Answer | undefined> {
  const wire = await rawWireFromUrl(url, { headers });
  const request = { jsonrpc: "2.0", method: unknownMethod, id: 1 };
  try {
    const { text, http } = await wire.ask(JSON.stringify(request), { timeoutMs: 2000 });
    if (http === undefined) return undefined;
    return { status: http.status, speaks: isAnswered({ payload: parsed(text), http }) };
  } catch {
    return undefined;
  } finally {
    await wire.close();
  }
}

/** OpenSSL's words for bytes that are not TLS. */
function isTlsMismatch(error: unknown): boolean {
  return /wrong version number|packet length too long|http request/i.test(oneLine(error));
}

async function withoutTls(url: string, cause: unknown): Promise<Failure> {
  const plain = url.replace(/^(http|ws)s:/, "$1:").replace(/^tls:/, "tcp:");
  // Without the headers: whoever broke TLS to read along would be sent the credentials in plain text.
  const speaksHttp =
    /^(http|ws):/.test(plain) && (await asked(plain.replace(/^ws/, "http"), {})) !== undefined;
  const what = speaksHttp ? "that port speaks plain http" : "that port does not speak TLS";
  return new Failure(`${url}: ${what}; try ${plain}`, {
    cause,
    exitCode: 3,
    report: { code: "NOT_TLS" },
  });
}

/** Servers of TLS end a connection on which something else is said. */
function wasHungUp(error: unknown): boolean {
  const isLost = error instanceof WireError && error.code === "CONNECTION_LOST";
  return isLost || /hang up|other side closed|ECONNRESET/.test(oneLine(error));
}

/** Whether a plain address has TLS at its port; whose certificate that is does not matter here. */
function speaksTls(url: string): Promise<boolean> {
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
    const answer = (speaks: boolean) => () => {
      socket.destroy();
      resolve(speaks);
    };
    socket.on("secureConnect", answer(true)).on("error", answer(false));
    socket.on("timeout", answer(false)).on("close", answer(false));
  });
}

function withTls(url: string, cause: unknown): Failure {
  const secure = url.replace(/^(http|ws):/, "$1s:").replace(/^tcp:/, "tls:");
  return new Failure(`${url}: that port speaks TLS; try ${secure}`, {
    cause,
    exitCode: 3,
    report: { code: "NEEDS_TLS" },
  });
}
