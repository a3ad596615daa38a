import type { Attributes } from "@opentelemetry/api";
import type { Link } from "../../protocol/link.ts";
import type { ErrorObject, Request } from "../../protocol/message.ts";
import type { Transport } from "../../protocol/origin.ts";

/** Attribute names: those of the current semantic conventions, those before 1.39, or both. */
export type Conventions = "current" | "old" | "both";

/** Replaces methods that the server does not have; callers can make up names. */
export const otherMethod = "_OTHER";

/** Attributes known at the start of a call, which samplers can use. */
export function callAttributes(
  request: Request,
  method: string,
  conventions: Conventions,
): Attributes {
  const { id, jsonrpc } = request;
  const named = id !== undefined && id !== null ? `${id}` : undefined;
  const attributes: Attributes = { "rpc.method": method };
  if (method !== request.method) attributes["rpc.method_original"] = request.method.slice(0, 256);
  if (conventions !== "old") {
    attributes["rpc.system.name"] = "jsonrpc";
    if (jsonrpc !== undefined) attributes["jsonrpc.protocol.version"] = jsonrpc;
    if (named !== undefined) attributes["jsonrpc.request.id"] = named;
  }
  if (conventions !== "current") {
    attributes["rpc.system"] = "jsonrpc";
    if (jsonrpc !== undefined) attributes["rpc.jsonrpc.version"] = jsonrpc;
    if (named !== undefined) attributes["rpc.jsonrpc.request_id"] = named;
  }
  return attributes;
}

const transports: Readonly<Record<string, string>> = {
  http: "tcp",
  websocket: "tcp",
  tcp: "tcp",
  tls: "tcp",
  nats: "tcp",
  unix: "unix",
  stdio: "pipe",
};

const protocols: Readonly<Record<string, string>> = {
  http: "http",
  websocket: "websocket",
  nats: "nats",
};

/** What a transport is, to conventions that ask for it. */
export function networkAttributes(kind: string): Attributes {
  const transport = transports[kind];
  const protocol = protocols[kind];
  return {
    ...(transport === undefined ? {} : { "network.transport": transport }),
    ...(protocol === undefined ? {} : { "network.protocol.name": protocol }),
  };
}

/** Where a call came from. */
export function transportAttributes(
  { kind, remoteAddress, remotePort }: Transport,
  conventions: Conventions,
): Attributes {
  const attributes: Attributes = { "callwire.transport": kind };
  if (remoteAddress !== undefined) attributes["network.peer.address"] = remoteAddress;
  if (remotePort !== undefined) attributes["network.peer.port"] = remotePort;
  if (conventions === "current") return attributes;
  Object.assign(attributes, networkAttributes(kind));
  if (remoteAddress !== undefined) attributes["client.address"] = remoteAddress;
  return attributes;
}

const usualPorts: Readonly<Record<string, number>> = {
  "http:": 80,
  "ws:": 80,
  "https:": 443,
  "wss:": 443,
};

const known = new WeakMap<Link, Attributes>();

/** The server that a link leads to; nothing if it has no address, or a relative one. */
export function serverAttributes(link: Link | undefined): Attributes | undefined {
  if (link?.address === undefined) return undefined;
  const before = known.get(link);
  if (before !== undefined) return before;
  const attributes = addressAttributes(link.address);
  known.set(link, attributes);
  return attributes;
}

function addressAttributes(address: string): Attributes {
  if (!URL.canParse(address)) return {};
  const { protocol, hostname, port, pathname } = new URL(address);
  if (hostname === "") return { "server.address": pathname };
  const usual = usualPorts[protocol];
  const number = port === "" ? usual : Number(port);
  return {
    "server.address": hostname.replace(/^\[|\]$/g, ""),
    ...(number === undefined ? {} : { "server.port": number }),
  };
}

/** The name of a method that a client calls, unless it is not on the list; some clients call what others ask for. */
export function listedMethod(method: string, list: ReadonlySet<string> | undefined): string {
  return list === undefined || list.has(method) ? method : otherMethod;
}

/** Attributes of a call that ended with a JSON-RPC error. */
export function errorAttributes(error: ErrorObject, conventions: Conventions): Attributes {
  const code = `${error.code}`;
  const attributes: Attributes = { "error.type": code };
  if (conventions !== "old") attributes["rpc.status_code"] = code;
  if (conventions !== "current") {
    attributes["rpc.jsonrpc.error_code"] = error.code;
    attributes["rpc.jsonrpc.error_message"] = error.message;
  }
  return attributes;
}

/** The conventions that the names above are from. */
export const schemaUrl = "https://opentelemetry.io/schemas/1.45.0";
