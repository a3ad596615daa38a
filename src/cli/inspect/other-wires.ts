import { createClient, RpcError } from "callwire";
import { isHttpUrl, type LinkOptions, linkFromUrl } from "../link-from-url.ts";
import { type AskOptions, type RawAnswer, rawWireFromUrl } from "../raw-wire.ts";
import { codeOf, isResponse, type Prober, unknownMethod } from "./prober.ts";

export interface OtherWire {
  readonly wire: "HTTP" | "WebSocket" | "SSE";
  readonly url: string;
}

/** Finds other wires at the usual paths. */
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
  const socketUrls = isHttp ? unique([web, `${base}/ws`]) : [];
  for (const place of socketUrls) {
    const socketUrl = place.replace(/^http/, "ws");
    prober.asked++;
    if (await answersOnSocket(socketUrl, options, timeoutMs)) {
      found.push({ wire: "WebSocket", url: socketUrl });
    }
  }
  const httpUrls = isHttp ? [] : unique([web, base]);
  for (const httpUrl of httpUrls) {
    prober.asked++;
    if (await answersOverHttp(httpUrl, options, timeoutMs)) {
      found.push({ wire: "HTTP", url: httpUrl });
    }
  }
  for (const eventUrl of unique([base, `${base}/stream`])) {
    prober.asked++;
    if (await answersWithEvents(eventUrl, options, timeoutMs)) {
      found.push({ wire: "SSE", url: eventUrl });
    }
  }
  return found;
}

function unique(urls: readonly string[]): string[] {
  return [...new Set(urls)];
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
