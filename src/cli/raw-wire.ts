import { createClient, WireError } from "callwire";
import type { Channel, ChannelListener } from "callwire/connection";
import { oneLine } from "./failure.ts";
import { httpFetch } from "./http-fetch.ts";
import { isHttpUrl, type LinkOptions, linkFromUrl, mustCarryAnyText } from "./link-from-url.ts";
import type { Transcript } from "./transcript.ts";

/** What came back for a text. */
export interface RawAnswer {
  /** Undefined where the wire says that nothing comes, as HTTP does with 204. */
  readonly text: string | undefined;
  readonly http?: { readonly status: number; readonly type: string | null };
}

export interface AskOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Whether an answer is due; without one, wires other than HTTP are not waited for. @default true */
  readonly expectsReply?: boolean;
  /** Whether a message is the answer, on wires where others may come before it. @default any that is no call */
  readonly accepts?: (text: string) => boolean;
  /** Whether the head of an HTTP response is enough, so that its body is left. @default false */
  readonly headOnly?: boolean;
  /** In place of the usual headers, over HTTP. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Carries texts as they are, right or wrong. One is asked at a time. */
export interface RawWire {
  /** Rejects with a `WireError` when nothing answered. */
  ask(text: string, options: AskOptions): Promise<RawAnswer>;
  close(): Promise<void>;
}

export async function rawWireFromUrl(url: string, options: LinkOptions = {}): Promise<RawWire> {
  mustCarryAnyText(url);
  // An address that is none is told before anything is sent, whichever wire it names.
  const { transcript, ...rest } = options;
  const link = await linkFromUrl(url, { ...rest, wrapChannel: (channel) => mute(channel) });
  const wire = new RawChannel(
    ({ timeoutMs, signal }) =>
      createClient(link, { timeoutMs }).notify("open", undefined, { signal }),
    () => link.close(),
    transcript,
  );
  const mute = (channel: Channel): Channel => wire.take(channel);
  if (!isHttpUrl(url)) return wire;
  await link.close();
  return new RawHttp(url, options);
}

class RawHttp implements RawWire {
  readonly #url: string;
  readonly #options: LinkOptions;

  constructor(url: string, options: LinkOptions) {
    this.#url = url;
    this.#options = options;
  }

  async ask(text: string, options: AskOptions): Promise<RawAnswer> {
    const { transcript, headers } = this.#options;
    const time = AbortSignal.timeout(options.timeoutMs);
    try {
      transcript?.sent(text);
      const response = await (transcript?.fetch ?? httpFetch)(this.#url, {
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
      const type = response.headers.get("content-type");
      const http = { status: response.status, type };
      if (options.headOnly) {
        await response.body?.cancel();
        return { text: undefined, http };
      }
      const body = await bodyOf(response);
      if (body !== "") transcript?.received(body);
      return { text: body === "" ? undefined : body, http };
    } catch (error) {
      throw time.aborted ? silence(options.timeoutMs) : wireErrorOf(error);
    }
  }

  async close(): Promise<void> {}
}

/** The text of a body, up to some length: one without end must not fill memory. */
export async function bodyOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > longestBody) {
      throw new WireError("TOO_LARGE", `the reply is longer than ${longestBody} characters`);
    }
  }
  return text + decoder.decode();
}

const longestBody = 32 * 1024 * 1024;

function silence(ms: number): WireError {
  return new WireError("TIMEOUT", `no answer within ${ms / 1000} s`);
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

/** Speaks in place of a connection: what that would send is dropped, and what comes is not for it. */
class RawChannel implements RawWire {
  readonly #connect: (options: AskOptions) => Promise<void>;
  readonly #release: () => Promise<void>;
  readonly #transcript: Transcript | undefined;
  #channel: Channel | undefined;
  #waiting: Waiting | undefined;

  constructor(
    connect: (options: AskOptions) => Promise<void>,
    release: () => Promise<void>,
    transcript: Transcript | undefined,
  ) {
    this.#connect = connect;
    this.#release = release;
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
      // Where it takes too long, what was to be asked got no answer.
      await this.#connect(options).catch((error: WireError) => {
        throw error.code === "TIMEOUT" ? silence(timeoutMs) : error;
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
    const { promise, resolve, reject } = deferred<string>();
    const timer = setTimeout(() => reject(silence(timeoutMs)), timeoutMs);
    const abort = (): void => reject(new WireError("ABORTED", "cancelled"));
    signal?.addEventListener("abort", abort, { once: true });
    this.#waiting = { accepts, resolve, reject };
    try {
      channel.send(text);
      return { text: await promise };
    } finally {
      this.#waiting = undefined;
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  close(): Promise<void> {
    return this.#release();
  }

  #receive(text: string): void {
    this.#transcript?.received(text);
    const waiting = this.#waiting;
    if (waiting !== undefined && !isCall(text) && waiting.accepts(text)) waiting.resolve(text);
  }
}

/** Whether a message is something that the server tells or asks, and so no answer. */
function isCall(text: string): boolean {
  if (!text.includes('"method"')) return false;
  try {
    return typeof (JSON.parse(text) as { method?: unknown }).method === "string";
  } catch {
    return false;
  }
}

function lost(cause?: Error): WireError {
  const why = cause?.message ?? "the other end closed the connection";
  return new WireError("CONNECTION_LOST", why, { cause });
}

function deferred<T>(): {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (error: Error) => void;
} {
  let resolve: (value: T) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
