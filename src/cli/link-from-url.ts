import type { Link, Service, Tap } from "callwire";
import type { Channel, ReconnectOptions } from "callwire/connection";
import type { FramingChoice } from "callwire/framing";
import { Failure, oneLine } from "./failure.ts";
import type { Transcript } from "./transcript.ts";

export interface LinkOptions {
  /** Sent with each request, on wires that have headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How messages are told apart on stdio, TCP and unix sockets. */
  readonly framing?: FramingChoice | undefined;
  /** Shows the messages both ways. */
  readonly transcript?: Transcript | undefined;
  /** Answers what the server calls or tells, on wires that let it. */
  readonly service?: Service;
  /** @default false: a broken connection is told, not healed */
  readonly reconnect?: boolean | ReconnectOptions;
  /** Most connections over HTTP. */
  readonly connections?: number;
  /** What becomes of what a program says on stderr. @default "inherit" */
  readonly stderr?: "inherit" | "ignore" | ((chunk: Uint8Array) => void);
  /** Stands between the wire and the connection. */
  readonly wrapChannel?: (channel: Channel) => Channel;
}

const forms =
  "http://, https://, ws://, wss://, tcp://, tls://, nats://host/subject, unix:path or stdio:command";

/** Whether a text names a server, and not a file. */
export function isServerUrl(text: string): boolean {
  return /^(https?|wss?|tcp|tls|nats):\/\/|^(unix|stdio):/.test(text);
}

export function isHttpUrl(text: string): boolean {
  return /^https?:/.test(text);
}

/** The scheme of an address, if its wire carries messages and nothing beside them. */
export function schemeWithoutHeaders(url: string): string | undefined {
  return /^(tcp|tls|unix|stdio):/.exec(url)?.[1];
}

/** Refuses headers that HTTP cannot carry, which its wires would tell of in words of their own. */
export function mustBeHttpHeaders(headers: Readonly<Record<string, string>>): void {
  const [name] = Object.entries(headers).find(([, value]) => !httpText.test(value)) ?? [];
  if (name === undefined) return;
  throw new Failure(`the header ${name} holds characters that HTTP cannot send`);
}

const httpText = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

/** Refuses what cannot carry texts that are no calls; nothing has been sent then. */
export function mustCarryAnyText(url: string): void {
  if (!url.startsWith("nats:")) return;
  throw new Failure(
    "NATS is no wire of batch, inspect, conform and audit: they send texts as they are, right or wrong, " +
      'and workers on NATS take calls only; "callwire gateway --to nats://…" brings them to HTTP',
  );
}

/** The way to the server that an address names. */
export async function linkFromUrl(url: string, options: LinkOptions = {}): Promise<Link> {
  const {
    headers = {},
    transcript,
    service,
    framing,
    reconnect = false,
    stderr = "inherit",
  } = options;
  const tap: Tap | undefined =
    transcript === undefined ? undefined : (text, direction) => transcript[direction](text);
  const shared = {
    reconnect,
    wrapChannel: options.wrapChannel,
    ...(tap === undefined ? undefined : { tap }),
    ...(service === undefined ? undefined : { service }),
  };
  const [, scheme = "", rest = ""] = /^([a-z]+):(.*)$/s.exec(url) ?? [];
  if (Object.keys(headers).length > 0 && schemeWithoutHeaders(url) !== undefined) {
    throw new Failure(
      `${scheme}: has no headers; --header and --bearer are for HTTP and WebSocket`,
    );
  }
  if (framing !== undefined && isServerUrl(url) && schemeWithoutHeaders(url) === undefined) {
    throw new Failure(`a framing is for tcp, tls, unix and stdio; ${scheme}: has one of its own`);
  }
  if (/^(http|ws)s?$/.test(scheme)) mustBeHttpHeaders(headers);
  try {
    // Each wire is loaded when it is asked for, so that the command starts at once.
    switch (scheme) {
      case "http":
      case "https": {
        const { connections } = options;
        return (await import("callwire/http")).httpLink(url, {
          headers,
          ...(tap === undefined || transcript === undefined
            ? undefined
            : { tap, fetch: transcript.fetch }),
          ...(connections === undefined ? undefined : { connections }),
        });
      }
      case "ws":
      case "wss":
        return (await import("callwire/ws")).webSocketLink(url, { ...shared, headers });
      case "tcp":
      case "tls":
        return (await import("callwire/tcp")).tcpLink(url, { ...shared, framing });
      case "nats":
        return await (await import("./nats-link.ts")).natsLinkFromUrl(url, {
          headers,
          service,
          tap,
          reconnect: reconnect !== false,
        });
      case "unix":
        if (rest === "") break;
        return (await import("callwire/tcp")).unixLink(rest.replace(/^\/\/(?=\/)/, ""), {
          ...shared,
          framing,
        });
      case "stdio": {
        const [command, ...args] = wordsOf(rest);
        if (command === undefined) break;
        const own = { ...shared, framing, stderr };
        if (stderr === "inherit") {
          const { wrapChannel = (channel) => channel } = options;
          own.wrapChannel = (channel) => wrapChannel(withoutLastWords(channel));
        }
        return (await import("callwire/stdio")).stdioLink(command, args, own);
      }
    }
  } catch (error) {
    throw new Failure(`${JSON.stringify(url)} is no address: ${oneLine(error)}`, { cause: error });
  }
  throw new Failure(`${JSON.stringify(url)} is no address; addresses are ${forms}`);
}

/** The words of a command line; quotes keep spaces together, and nothing else has a meaning. */
export function wordsOf(line: string): string[] {
  if (/["']/.test(line.replace(/"[^"]*"|'[^']*'/g, "")))
    throw new Failure("a quote is opened and not closed");
  return Array.from(line.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g), ([word]) =>
    word.replace(
      /"([^"]*)"|'([^']*)'/g,
      (_, double?: string, single?: string) => double ?? single ?? "",
    ),
  );
}

/** A program's channel, for whoever shows what it says as it says it: its end does not repeat that. */
export function withoutLastWords(channel: Channel): Channel {
  return {
    send: (text) => channel.send(text),
    listen: (listener) =>
      channel.listen({
        message: (text) => listener.message(text),
        fault: (fault) => listener.fault(fault),
        drain: () => listener.drain(),
        end: (error: (Error & { how?: string }) | undefined) =>
          listener.end(error?.how === undefined ? error : new Error(error.how, { cause: error })),
      }),
    get bufferedBytes() {
      return channel.bufferedBytes;
    },
    close: (reason) => channel.close(reason),
  };
}

/** A link that tells when an item of a stream comes for a call that nobody iterates over. */
export function noticingItems(link: Link, notice: () => void): Link {
  return {
    send(request, outgoing) {
      outgoing.item = () => {
        notice();
        return undefined;
      };
      return link.send(request, outgoing);
    },
    sendBatch: (requests, outgoing) => link.sendBatch(requests, outgoing),
    close: () => link.close(),
  };
}
