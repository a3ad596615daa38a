import { createClient, RpcError } from "callwire";
import { isHttpUrl, type LinkOptions, linkFromUrl } from "../link-from-url.ts";
import { type AskOptions, type RawAnswer, rawWireFromUrl } from "../raw-wire.ts";
import { codeOf, isResponse, type Prober, unknownMethod } from "./prober.ts";

export interface OtherWire {
  readonly wire: "HTTP" | "WebSocket" | "SSE";
  readonly url: string;
}

export async function findWires(
  url: string,
  options: LinkOptions,
  timeoutMs: number,
  prober: Prober,
): Promise<OtherWire[]> {
  const found: OtherWire[] = [];
  const isHttp = isHttpUrl(url);
  if (!isHttp && !/^wss?:/.test(url)) return found;
  const web = url.replace(/^ws/, "http").replace(/[?#].*$/, "");
  const base = web.replace(/\/(ws)?$/, "");
  const socketUrls = [web, `${base}/ws`].map((place) => place.replace(/^http/, "ws"));
  const candidates = [
    ["WebSocket", isHttp ? socketUrls : [], answersOnSocket],
    ["HTTP", isHttp ? [] : [web, base], answersOverHttp],
    ["SSE", [base, `${base}/stream`], answersWithEvents],
  ] as const;
  for (const [wire, urls, answers] of candidates) {
    for (const each of new Set(urls)) {
      prober.asked++;
      if (await answers(each, options, timeoutMs)) found.push({ wire, url: each });
    }
  }
  return found;
}

async function answersOnSocket(
  url: string,
  options: LinkOptions,
  timeoutMs: number,
): Promise<boolean> {
  const link = await linkFromUrl(url, options);
  await using client = createClient(link, { timeoutMs });
  try {
    await client.call(unknownMethod);
    return true;
  } catch (error) {
    return error instanceof RpcError;
  }
}

function answersOverHttp(url: string, options: LinkOptions, timeoutMs: number): Promise<boolean> {
  return answers(url, options, { timeoutMs }, ({ text = "", http }) => {
    const payload: unknown = JSON.parse(text);
    return http?.status !== 404 && isResponse(payload) && codeOf(payload) !== -32600;
  });
}

function answersWithEvents(url: string, options: LinkOptions, timeoutMs: number): Promise<boolean> {
  const asked = { timeoutMs, headers: { accept: "text/event-stream" }, headOnly: true };
  return answers(url, options, asked, ({ http }) => /^text\/event-stream\b/.test(http?.type ?? ""));
}

/** Whether the reply to an unknown method is good; false without a reply. */
async function answers(
  url: string,
  options: LinkOptions,
  asked: AskOptions,
  isGood: (answer: RawAnswer) => boolean,
): Promise<boolean> {
  const wire = await rawWireFromUrl(url, options);
  try {
    const message = JSON.stringify({ jsonrpc: "2.0", method: unknownMethod, id: 1 });
    return isGood(await wire.ask(message, asked));
  } catch {
    return false;
  }
}
