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

/** What one request delivers. */
export interface Delivery {
  /** Undefined for an entry of Dapr's bulk form that is not an event. */
  readonly events: readonly (CloudEvent | undefined)[];
  /** The ids of the entries, each of which has an outcome of its own. */
  readonly entryIds?: readonly string[];
}

/** The events of a request in any of its forms, or what is wrong with it; `takesRaw` if its payload may be the data. */
export function deliveryOf(
  headers: IncomingHttpHeaders,
  body: string | undefined,
  takesRaw: boolean,
): Delivery | string {
  if (body === undefined) return "the body must be UTF-8";
  const type = mediaType(headers["content-type"]);
  const bulk = isJsonType(type) ? bulkIn(parseJson(body)) : undefined;
  if (bulk !== undefined) return bulk;
  const events = eventsOf(headers, type, body);
  if (events === undefined) return takesRaw ? { events: [rawEvent(type, body)] } : notAnEvent;
  return typeof events === "string" ? events : { events };
}

/** The events in one of the three forms of CloudEvents; undefined if it is another one. */
function eventsOf(
  headers: IncomingHttpHeaders,
  type: string,
  body: string,
): readonly CloudEvent[] | string | undefined {
  if (type === "application/cloudevents+json") return fromEnvelopes(parseJson(body), false);
  if (type === "application/cloudevents-batch+json") return fromEnvelopes(parseJson(body), true);
  if (type.startsWith("application/cloudevents")) return `the format ${type} is not supported`;
  return headers["ce-specversion"] === undefined ? undefined : fromHeaders(headers, type, body);
}

const notAnEvent =
  "this is not a CloudEvent: it has neither the content type of one nor the header ce-specversion";

/** Dapr's bulk form: entries with an id, an event and its content type. */
function bulkIn(value: unknown): Delivery | undefined {
  const { entries } = (value ?? {}) as { readonly entries?: unknown };
  if (!Array.isArray(entries) || !entries.every(isEntry)) return undefined;
  return {
    events: entries.map(({ event, contentType = "" }) => eventIn(event, mediaType(contentType))),
    entryIds: entries.map(({ entryId }) => entryId),
  };
}

interface Entry {
  readonly entryId: string;
  readonly event: unknown;
  readonly contentType?: string;
}

function isEntry(value: unknown): value is Entry {
  const { entryId, contentType } = (value ?? {}) as Partial<Record<string, unknown>>;
  const isTyped = contentType === undefined || typeof contentType === "string";
  return typeof entryId === "string" && isTyped;
}

function eventIn(event: unknown, type: string): CloudEvent | undefined {
  if (type === "application/cloudevents+json" || type === "") {
    const events = fromEnvelopes(event, false);
    return typeof events === "string" ? undefined : events[0];
  }
  if (typeof event !== "string") return rawEvent(type, JSON.stringify(event) ?? "");
  const isBytes = type === "application/octet-stream";
  const encoded = isBytes ? withDecoded({ datacontenttype: type }, event) : undefined;
  return typeof encoded === "object" ? rawEvent(type, "", encoded) : rawEvent(type, event);
}

/** A payload that is not a CloudEvent, as one. */
function rawEvent(type: string, text: string, data = rawData(text)): CloudEvent {
  return {
    specversion: "1.0",
    id: crypto.randomUUID(),
    source: "Dapr",
    type: "com.dapr.event.sent",
    ...(type !== "" && { datacontenttype: type }),
    ...data,
  };
}

/** Raw bytes have no type of their own: they are JSON if they can be read as such, and text otherwise. */
function rawData(text: string): { readonly data?: unknown } {
  return text === "" ? {} : { data: parseJson(text) ?? text };
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
  const type = mediaType(String(event.datacontenttype ?? ""));
  if (type === "application/octet-stream") {
    // Bytes that are not text cannot be params in another form.
    return { ...event, ...(text === undefined ? { data: encoded } : rawData(text)) };
  }
  if (text === undefined) return "the bytes in data_base64 must be UTF-8";
  return withData(event, type, text);
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
  const data = type === "" || isJsonType(type) ? parseJson(text) : text;
  return data === undefined
    ? "the data must be JSON, as its content type says"
    : { ...event, data };
}

function isJsonType(type: string): boolean {
  return /^application\/(.+\+)?json$/.test(type);
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
