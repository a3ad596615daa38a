import type { Link, Service, Tap } from "callwire";
import type { Channel, ReconnectOptions } from "callwire/connection";
import type { FramingChoice } from "callwire/framing";
import { clientTls } from "./client-tls.ts";
import { Failure, oneLine } from "./failure.ts";
import type { Transcript } from "./transcript.ts";

export interface LinkOptions {
  /** Sent with each request, on wires with headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For stdio, TCP and unix sockets. @default "newline" */
  readonly framing?: FramingChoice | undefined;
  /** Shows the messages both ways. */
  readonly transcript?: Transcript | undefined;
  /** Handles calls and notifications from the server. */
  readonly service?: Service;
  /** @default false */
  readonly reconnect?: boolean | ReconnectOptions;
  /** Connection limit over HTTP. */
  readonly connections?: number;
  /** For the stderr of a program. @default "inherit" */
  readonly stderr?: "inherit" | "ignore" | ((chunk: Uint8Array) => void);
  /** Wraps the channel between the wire and the connection. */
  readonly wrapChannel?: (channel: Channel) => Channel;
}

const forms =
  "http://, https://, ws://, wss://, tcp://, tls://, nats://host/subject, unix:path or stdio:command";

/** Whether a string is an address, not a file name. */
export function isServerUrl(text: string): boolean {
  return /^(https?|wss?|tcp|tls|nats):\/\/|^(unix|stdio):/.test(text);
}

export function isHttpUrl(text: string): boolean {
  return /^https?:/.test(text);
}

/** The scheme of an address, if its wire does not have headers. */
export function schemeWithoutHeaders(url: string): string | undefined {
  return /^(tcp|tls|unix|stdio):/.exec(url)?.[1];
}

/** Refuses headers that HTTP cannot send; each wire would report them differently. */
export function checkHttpHeaders(headers: Readonly<Record<string, string>>): void {
  const [name] = Object.entries(headers).find(([, value]) => !httpText.test(value)) ?? [];
  if (name === undefined) return;
  throw new Failure(`the header ${name} contains characters that HTTP cannot send; remove them`);
}

const httpText = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

/** Refuses NATS for verbs that send invalid messages on purpose. */
export function refuseNats(url: string): void {
  if (!url.startsWith("nats:")) return;
  throw new Failure(
    "NATS addresses do not work with batch, inspect, conform and audit, which may send invalid messages; " +
      'use HTTP through "callwire gateway --to nats://…"',
  );
}

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
  const tls = clientTls();
  const secured = tls === undefined ? undefined : { tls };
  const [, scheme = "", rest = ""] = /^([a-z]+):(.*)$/s.exec(url) ?? [];
  if (tls !== undefined && scheme === "nats")
    throw new Failure("--cacert and --cert do not work with nats: addresses; use ?ca=ca.pem");
  if (Object.keys(headers).length > 0 && schemeWithoutHeaders(url) !== undefined) {
    throw new Failure(
      `--header and --bearer do not work with ${scheme}: addresses, which have no headers`,
    );
  }
  if (framing !== undefined && isServerUrl(url) && schemeWithoutHeaders(url) === undefined) {
    throw new Failure(
      `a framing does not work with ${scheme}: addresses; it is for tcp, tls, unix and stdio`,
    );
  }
  if (/^(http|ws)s?$/.test(scheme)) checkHttpHeaders(headers);
  try {
    // Each wire is loaded on first use, so that the command starts fast.
    switch (scheme) {
      case "http":
      case "https": {
        const { connections } = options;
        return (await import("callwire/http")).httpLink(url, {
          headers,
          ...secured,
          ...(tap === undefined || transcript === undefined
            ? undefined
            : { tap, fetch: transcript.fetch }),
          ...(connections === undefined ? undefined : { connections }),
        });
      }
      case "ws":
      case "wss":
        return (await import("callwire/ws")).webSocketLink(url, { ...shared, ...secured, headers });
      case "tcp":
      case "tls":
        return (await import("callwire/tcp")).tcpLink(url, {
          ...shared,
          ...(scheme === "tls" ? secured : undefined),
          framing,
        });
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
        const [command, ...args] = splitWords(rest);
        if (command === undefined) break;
        const own = { ...shared, framing, stderr };
        if (stderr === "inherit") {
          const { wrapChannel = (channel) => channel } = options;
          own.wrapChannel = (channel) => wrapChannel(withoutStderrInError(channel));
        }
        return (await import("callwire/stdio")).stdioLink(command, args, own);
      }
    }
  } catch (error) {
    throw notAnAddress(url, `: ${oneLine(error)}`, error);
  }
  throw notAnAddress(url, `; addresses are ${forms}`);
}

export function notAnAddress(text: string, why = "", cause?: unknown): Failure {
  return new Failure(`${JSON.stringify(text)} is not an address${why}`, { cause });
}

/** Splits a command line at spaces; only quotes are special. */
export function splitWords(line: string): string[] {
  if (/["']/.test(line.replace(/"[^"]*"|'[^']*'/g, ""))) throw new Failure("a quote is not closed");
  return Array.from(line.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g), ([word]) =>
    word.replace(
      /"([^"]*)"|'([^']*)'/g,
      (_, double?: string, single?: string) => double ?? single ?? "",
    ),
  );
}

/** Removes the stderr of a program from its exit error, for callers that already show it. */
export function withoutStderrInError(channel: Channel): Channel {
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

/** Reports stream items of calls that were not made as streams. */
export function watchItems(link: Link, onItem: () => void): Link {
  return {
    send(request, outgoing) {
      outgoing.item = () => {
        onItem();
        return undefined;
      };
      return link.send(request, outgoing);
    },
    sendBatch: (requests, outgoing) => link.sendBatch(requests, outgoing),
    close: () => link.close(),
  };
}
