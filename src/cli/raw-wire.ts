import { createClient, type Link, WireError } from "callwire";
import type { Channel, ChannelListener } from "callwire/connection";
import { oneLine } from "./failure.ts";
import { bodyOf, httpFetch } from "./http-fetch.ts";
import { memberOf, parsed } from "./json-values.ts";
import { isHttpUrl, type LinkOptions, linkFromUrl, refuseNats } from "./link-from-url.ts";
import type { Transcript } from "./transcript.ts";

export interface RawAnswer {
  /** Undefined for an empty reply, such as HTTP 204. */
  readonly text: string | undefined;
  readonly http?: { readonly status: number; readonly type: string | null };
}

export interface AskOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Whether to wait for a reply; HTTP always waits for its response. @default true */
  readonly expectsReply?: boolean;
  /** Whether a message is the reply; other messages may arrive first. @default every message that is not a call */
  readonly accepts?: (text: string) => boolean;
  /** Whether to skip the body of an HTTP response. @default false */
  readonly headOnly?: boolean;
  /** Override the usual headers, over HTTP. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends messages unchanged, even invalid ones; one at a time. */
export interface RawWire {
  /** Rejects with a `WireError` if there is no reply. */
  ask(text: string, options: AskOptions): Promise<RawAnswer>;
  close(): Promise<void>;
}

export async function rawWireFromUrl(url: string, options: LinkOptions = {}): Promise<RawWire> {
  refuseNats(url);
  // Checks the address of every wire before anything is sent.
  const { transcript, ...rest } = options;
  const wire = new RawChannel(transcript);
  const wrapChannel = (channel: Channel): Channel => wire.take(channel);
  wire.link = await linkFromUrl(url, { ...rest, wrapChannel });
  if (!isHttpUrl(url)) return wire;
  await wire.close();
  return { ask: (text, asked) => askOverHttp(url, text, options, asked), close: async () => {} };
}

async function askOverHttp(
  url: string,
  text: string,
  { transcript, headers }: LinkOptions,
  options: AskOptions,
): Promise<RawAnswer> {
  const time = AbortSignal.timeout(options.timeoutMs);
  try {
    transcript?.sent(text);
    const response = await (transcript?.fetch ?? httpFetch)(url, {
      method: "POST",
      headers: {
        accept: "application/json",
        "content-type": "application/json",
        ...headers,
        ...options.headers,
      },
      body: text,
      signal: options.signal === undefined ? time : AbortSignal.any([time, options.signal]),
    });
    const http = { status: response.status, type: response.headers.get("content-type") };
    if (options.headOnly) {
      await response.body?.cancel();
      return { text: undefined, http };
    }
    const body = await bodyOf(response);
    if (body !== "") transcript?.received(body);
    return { text: body === "" ? undefined : body, http };
  } catch (error) {
    throw time.aborted ? timedOut(options.timeoutMs) : wireErrorOf(error);
  }
}

function timedOut(ms: number): WireError {
  return new WireError("TIMEOUT", `no reply within ${ms / 1000} s`);
}

const neverConnected =
  /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UNREACH|CONNECT_TIMEOUT|CERT|TLS|SSL|EPROTO/;

function wireErrorOf(cause: unknown): WireError {
  if (cause instanceof WireError) return cause;
  const { code } = cause as { code?: unknown };
  return neverConnected.test(`${code}`)
    ? new WireError("CONNECTION_FAILED", `no connection: ${oneLine(cause)}`, { cause })
    : new WireError("CONNECTION_LOST", `the connection broke: ${oneLine(cause)}`, { cause });
}

interface Waiting {
  accepts(text: string): boolean;
  resolve(text: string): void;
  reject(error: Error): void;
}

/** Replaces a connection: drops what it sends, and receives its messages. */
class RawChannel implements RawWire {
  /** Set before the first call of `ask`. */
  link!: Link;
  readonly #transcript: Transcript | undefined;
  #channel: Channel | undefined;
  #waiting: Waiting | undefined;

  constructor(transcript: Transcript | undefined) {
    this.#transcript = transcript;
  }

  take(channel: Channel): Channel {
    this.#channel = channel;
    return {
      send() {},
      listen: (listener: ChannelListener) =>
        channel.listen({
          message: (text) => this.#receive(text),
          fault: (fault) => this.#transcript?.noted(fault.message),
          drain: () => listener.drain(),
          end: (error) => {
            this.#channel = undefined;
            this.#waiting?.reject(lost(error));
            listener.end(error);
          },
        }),
      bufferedBytes: 0,
      close: (reason) => channel.close(reason),
    };
  }

  async ask(text: string, options: AskOptions): Promise<RawAnswer> {
    const { timeoutMs, signal, expectsReply = true, accepts = () => true } = options;
    if (this.#channel === undefined) {
      // A slow connection counts as a missing reply.
      const client = createClient(this.link, { timeoutMs });
      await client.notify("open", undefined, { signal }).catch((error: WireError) => {
        throw error.code === "TIMEOUT" ? timedOut(timeoutMs) : error;
      });
    }
    signal?.throwIfAborted();
    const channel = this.#channel as Channel | undefined;
    if (channel === undefined) throw lost();
    this.#transcript?.sent(text);
    if (!expectsReply) {
      channel.send(text);
      return { text: undefined };
    }
    let timer: NodeJS.Timeout | undefined;
    let abort = (): void => {};
    try {
      const reply = await new Promise<string>((resolve, reject) => {
        timer = setTimeout(() => reject(timedOut(timeoutMs)), timeoutMs);
        abort = () => reject(new WireError("ABORTED", "cancelled"));
        signal?.addEventListener("abort", abort, { once: true });
        this.#waiting = { accepts, resolve, reject };
        channel.send(text);
      });
      return { text: reply };
    } finally {
      this.#waiting = undefined;
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  close(): Promise<void> {
    return this.link.close();
  }

  #receive(text: string): void {
    this.#transcript?.received(text);
    const waiting = this.#waiting;
    if (waiting !== undefined && !isCall(text) && waiting.accepts(text)) waiting.resolve(text);
  }
}

/** Whether a message is a call or a notification, not a reply. */
function isCall(text: string): boolean {
  return text.includes('"method"') && typeof memberOf(parsed(text), "method") === "string";
}

function lost(cause?: Error): WireError {
  const why = cause?.message ?? "the server closed the connection";
  return new WireError("CONNECTION_LOST", why, { cause });
}
