import { masked } from "../failure.ts";
import { hasMember, memberOf } from "../json-values.ts";
import { isHttpUrl, type LinkOptions } from "../link-from-url.ts";
import { authorizationRequired, firstCall, requiresAuthorization } from "./first-call.ts";
import { findLimits, type Limits } from "./limits.ts";
import { findWires, type OtherWire } from "./other-wires.ts";
import { codeOf, isResponse, type Outcome, type Prober } from "./prober.ts";

export interface Inspection {
  readonly url: string;
  readonly messages: number;
  readonly firstAnswerMs: number;
  readonly versions: { readonly "2.0": boolean; readonly "1.0": boolean };
  readonly batch: boolean;
  /** Whether the server answers notifications, which it must not. */
  readonly notificationsAnswered: boolean;
  readonly discovery: Discovery | null;
  readonly wires: readonly OtherWire[];
  readonly limits: Limits | null;
  readonly http: Statuses | null;
}

export interface Discovery {
  readonly openrpc: string;
  readonly title: string;
  readonly version: string;
  readonly methods: number;
  readonly streams: readonly string[];
}

export interface Statuses {
  readonly call: number | null;
  readonly notification: number | null;
  readonly wrongContentType: number | null;
  readonly notJson: number | null;
}

export async function inspectServer(
  url: string,
  prober: Prober,
  options: LinkOptions & { readonly timeoutMs: number; readonly limits: boolean },
  onStep: (what: string) => void,
): Promise<Inspection> {
  onStep("the first call");
  const begun = performance.now();
  const greeting = await firstCall(url, prober, options);
  // All other replies would be the same.
  if (requiresAuthorization(greeting)) throw authorizationRequired(url, greeting.http?.status);
  const firstAnswerMs = Math.round((performance.now() - begun) * 10) / 10;
  prober.baseline = codeOf(greeting.payload);
  onStep("versions");
  const first = await prober.send({ method: "callwire/inspect", params: [], id: 1 });
  const pair = await prober.send([prober.request(), prober.request()]);
  const batch = Array.isArray(pair.payload) && pair.payload.length === 2;
  const { answered, status } = await notified(prober, isHttpUrl(url));
  onStep("discovery");
  const discovery = await discovered(prober);
  onStep("wires");
  const wires = await findWires(url, options, options.timeoutMs, prober);
  const http = isHttpUrl(url) ? await statusesOf(prober, greeting, status) : null;
  const limits = options.limits ? await findLimits(prober, batch, onStep) : null;
  return {
    url: masked(url),
    messages: prober.asked,
    firstAnswerMs,
    versions: {
      "2.0": memberOf(greeting.payload, "jsonrpc") === "2.0",
      // A rejection, or a reply in 2.0, means that 1.0 is not supported.
      "1.0":
        isResponse(first.payload) &&
        !hasMember(first.payload, "jsonrpc") &&
        prober.understood(first),
    },
    batch,
    notificationsAnswered: answered,
    discovery,
    wires,
    limits,
    http,
  };
}

async function notified(
  prober: Prober,
  isHttp: boolean,
): Promise<{ answered: boolean; status: number | null }> {
  const message = { jsonrpc: "2.0", method: "callwire/inspect" };
  const outcome = await prober.send(message, { expectsReply: isHttp });
  if (isHttp) {
    return { answered: isResponse(outcome.payload), status: outcome.http?.status ?? null };
  }
  // A message before the reply to the next call answers the notification.
  let answered = false;
  const { payload } = await prober.send(prober.request(), {
    onStray: () => {
      answered = true;
    },
  });
  if (hasMember(payload, "id") && memberOf(payload, "id") === null) {
    // A reply without an id was taken as that of the call; receive the real one.
    answered = true;
    await prober.send(prober.request());
  }
  return { answered, status: null };
}

async function discovered(prober: Prober): Promise<Discovery | null> {
  const { payload } = await prober.send({ ...prober.request(), method: "rpc.discover" });
  const result = memberOf(payload, "result");
  if (result === undefined) return null;
  // Many servers do not support rpc.discover.
  const { readDocument } = await import("callwire/openrpc");
  try {
    const { openrpc, info, methods } = readDocument(result);
    const streams = methods.filter((method) => method["x-stream"] !== undefined);
    return {
      openrpc,
      title: info.title,
      version: info.version,
      methods: methods.length,
      streams: streams.map(({ name }) => name),
    };
  } catch {
    return null;
  }
}

async function statusesOf(
  prober: Prober,
  greeting: Outcome,
  notification: number | null,
): Promise<Statuses> {
  const wrong = await prober.send(prober.request(), { headers: { "content-type": "text/plain" } });
  const garbage = await prober.send("{");
  return {
    call: greeting.http?.status ?? null,
    notification,
    wrongContentType: wrong.http?.status ?? null,
    notJson: garbage.http?.status ?? null,
  };
}
