import type { IncomingHttpHeaders } from "node:http";
import { decodeUtf8 } from "../framing/utf8.ts";
import { parseJson } from "../protocol/json-text.ts";

/** An event as specified at cloudevents.io, with its extensions. */
export interface CloudEvent {
  readonly specversion: string;
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject?: string;
  readonly time?: string;
  readonly datacontenttype?: string;
  readonly data?: unknown;
  readonly [attribute: string]: unknown;
}

const required = ["id", "source", "type"] as const;

/** The events of a request in any of the three forms, or what is wrong with it. */
export function eventsOf(
  headers: IncomingHttpHeaders,
  body: string | undefined,
): readonly CloudEvent[] | string {
  if (body === undefined) return "the body must be UTF-8";
  const type = mediaType(headers["content-type"]);
  if (type === "application/cloudevents+json") return fromEnvelopes(parseJson(body), false);
  if (type === "application/cloudevents-batch+json") return fromEnvelopes(parseJson(body), true);
  if (type.startsWith("application/cloudevents")) return `the format ${type} is not supported`;
  if (headers["ce-specversion"] !== undefined) return fromHeaders(headers, type, body);
  return "this is not a CloudEvent: it has neither the content type of one nor the header ce-specversion";
}

/** In the structured form the body is the event. */
function fromEnvelopes(value: unknown, isBatch: boolean): readonly CloudEvent[] | string {
  if (value === undefined) return "the body must be JSON";
  if (isBatch && !Array.isArray(value)) return "a batch of events must be an array";
  const events: CloudEvent[] = [];
  for (const entry of isBatch ? (value as unknown[]) : [value]) {
    if (typeof entry !== "object" || entry === null || Array.isArray(entry)) {
      return "an event must be an object";
    }
    const { data_base64: encoded, ...rest } = entry as Record<string, unknown>;
    const fault = faultOf(rest);
    if (fault !== undefined) return fault;
    const event = encoded == null ? rest : withDecoded(rest, encoded);
    if (typeof event === "string") return event;
    events.push(event as CloudEvent);
  }
  return events;
}

/** Decodes data_base64, so that the event looks as in the other forms. */
function withDecoded(event: Record<string, unknown>, encoded: unknown): object | string {
  if ("data" in event) return "an event must not have both data and data_base64";
  const bytes = Buffer.from(typeof encoded === "string" ? encoded : "", "base64");
  // Buffer skips invalid characters.
  if (bytes.toString("base64") !== encoded) return "data_base64 must be base64";
  const text = decodeUtf8(bytes, 0, bytes.length);
  if (text === undefined) return "the bytes in data_base64 must be UTF-8";
  const { datacontenttype } = event;
  return withData(event, mediaType(String(datacontenttype ?? "")), text);
}

/** In the binary form the headers are the event, and the body is its data. */
function fromHeaders(
  headers: IncomingHttpHeaders,
  type: string,
  body: string,
): readonly CloudEvent[] | string {
  const attributes: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(headers)) {
    // Data is not an attribute; it is the body.
    if (name.startsWith("ce-") && name !== "ce-data" && typeof value === "string") {
      attributes[name.slice(3)] = unescaped(value);
    }
  }
  const fault = faultOf(attributes);
  if (fault !== undefined) return fault;
  if (type !== "") attributes.datacontenttype = type;
  const event = withData(attributes, type, body);
  return typeof event === "string" ? event : [event as CloudEvent];
}

/** Data is a string if its media type is not JSON; without a type it is JSON. */
function withData(event: object, type: string, text: string): object | string {
  if (text === "") return event;
  const isJson = type === "" || /^application\/(.+\+)?json$/.test(type);
  const data = isJson ? parseJson(text) : text;
  return data === undefined
    ? "the data must be JSON, as its content type says"
    : { ...event, data };
}

function faultOf(attributes: Readonly<Record<string, unknown>>): string | undefined {
  if (attributes.specversion !== "1.0") return 'the attribute "specversion" must be "1.0"';
  const missing = required.find((name) => {
    const value = attributes[name];
    return typeof value !== "string" || value === "";
  });
  return missing === undefined
    ? undefined
    : `the attribute "${missing}" must be a string that is not empty`;
}

function mediaType(contentType = ""): string {
  return (contentType.split(";")[0] ?? "").trim().toLowerCase();
}

/** Headers are ASCII; other characters are percent-encoded. */
function unescaped(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
