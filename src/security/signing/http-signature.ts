import { createHash, timingSafeEqual } from "node:crypto";
import type { Transport } from "../../protocol/origin.ts";
import type { HttpRequestFacts } from "../../protocol/seal.ts";
import type { Key } from "./key.ts";
import {
  type BareItem,
  bytesText,
  type InnerList,
  type Item,
  innerListText,
  isInnerList,
  itemText,
  parseDictionary,
} from "./structured-fields.ts";

/** A message as RFC 9421 sees it. */
export interface SignedMessage {
  /** A derived component such as `@method`; undefined if the message does not have it. */
  derived(name: string): string | undefined;
  /** A header by its name in lower case. */
  header(name: string): string | undefined;
  /** The request that a response answers. */
  readonly request?: SignedMessage;
}

/** A signature in a message, not yet verified. */
export interface FoundSignature {
  readonly label: string;
  readonly input: InnerList;
  readonly signature: Uint8Array;
}

/** Most signatures of one message; each may cost a verification. */
const maxSignatures = 4;

const maxComponents = 32;

/** The signatures of a message; undefined if its headers are malformed. */
export function signaturesOf(message: SignedMessage): readonly FoundSignature[] | undefined {
  const inputs = parseDictionary(message.header("signature-input") ?? "");
  const signatures = parseDictionary(message.header("signature") ?? "");
  if (inputs === undefined || signatures === undefined) return undefined;
  const found: FoundSignature[] = [];
  for (const [label, input] of inputs) {
    const signature = signatures.get(label);
    if (found.length === maxSignatures || !isInnerList(input)) return undefined;
    if (signature === undefined || isInnerList(signature)) return undefined;
    if (!(signature.value instanceof Uint8Array)) return undefined;
    found.push({ label, input, signature: signature.value });
  }
  return found;
}

/** The string that is signed; undefined if the message lacks a component that it names. */
export function signatureBase(message: SignedMessage, input: InnerList): string | undefined {
  const names: string[] = [];
  let base = "";
  for (const item of input.items) {
    const name = itemText(item);
    const value = componentValue(message, item);
    // A repeated component would be ambiguous, and no legitimate signature has that many.
    if (value === undefined || names.includes(name) || names.length === maxComponents) {
      return undefined;
    }
    names.push(name);
    base += `${name}: ${value}\n`;
  }
  return `${base}"@signature-params": ${innerListText(input)}`;
}

/** The headers that sign a message. */
export function signatureHeaders(
  message: SignedMessage,
  key: Key,
  components: readonly Item[],
  parameters: ReadonlyMap<string, BareItem>,
): Readonly<Record<"signature-input" | "signature", string>> {
  const input: InnerList = {
    items: components,
    parameters: new Map([...parameters, ["keyid", key.kid]]),
  };
  const base = signatureBase(message, input);
  if (base === undefined) throw new TypeError("the message lacks a component that must be signed");
  return {
    "signature-input": `${ownLabel}=${innerListText(input)}`,
    signature: `${ownLabel}=${bytesText(key.sign(base))}`,
  };
}

export const ownLabel = "callwire";

/** Whether a signature covers this component, without parameters. */
export function covers({ items }: InnerList, name: string): boolean {
  return items.some(({ value, parameters }) => value === name && parameters.size === 0);
}

export function component(name: string, parameters: [string, BareItem][] = []): Item {
  return { value: name, parameters: new Map(parameters) };
}

function componentValue(message: SignedMessage, { value, parameters }: Item): string | undefined {
  if (typeof value !== "string") return undefined;
  let from: SignedMessage | undefined = message;
  let member: string | undefined;
  for (const [name, parameter] of parameters) {
    if (name === "req" && parameter === true) from = message.request;
    else if (name === "key" && typeof parameter === "string") member = parameter;
    else return undefined;
  }
  if (value.startsWith("@")) return member === undefined ? from?.derived(value) : undefined;
  const header = from?.header(value)?.trim();
  return member === undefined || header === undefined ? header : memberText(header, member);
}

function memberText(header: string, name: string): string | undefined {
  const member = parseDictionary(header)?.get(name);
  if (member === undefined) return undefined;
  return isInnerList(member) ? innerListText(member) : itemText(member);
}

/** A received request. */
export function arrivedRequest(
  { method, authority, target }: HttpRequestFacts,
  headers: Transport["headers"],
): SignedMessage {
  return requestMessage(method, authority, target, (name) => {
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
    return typeof value === "object" ? value.join(", ") : value;
  });
}

/** A request that is about to be sent. */
export function leavingRequest(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
): SignedMessage {
  const { host, pathname, search } = new URL(url);
  return requestMessage(method, host, pathname + search, headerOf(headers));
}

export function headerOf(
  headers: Readonly<Record<string, string>>,
): (name: string) => string | undefined {
  return (name) => (Object.hasOwn(headers, name) ? headers[name] : undefined);
}

/** The query with its question mark; undefined if there is none. */
export function queryOf(target: string): string | undefined {
  const start = target.indexOf("?");
  return start === -1 ? undefined : target.slice(start);
}

function requestMessage(
  method: string,
  authority: string,
  target: string,
  header: (name: string) => string | undefined,
): SignedMessage {
  return {
    header,
    derived(name) {
      switch (name) {
        case "@method":
          return method;
        case "@authority":
          return authority.toLowerCase();
        case "@path":
          return pathOf(target);
        case "@query":
          return queryOf(target) ?? "?";
        default:
          return undefined;
      }
    },
  };
}

/** The path without the query, and without the scheme and host that proxies put before it. */
function pathOf(target: string): string {
  const path = target.startsWith("/") ? target : target.replace(/^https?:\/\/[^/?#]*/i, "");
  const query = path.indexOf("?");
  const alone = query === -1 ? path : path.slice(0, query);
  return alone === "" ? "/" : alone;
}

/**
 * The header `Content-Digest` of a body (RFC 9530).
 * @example
 * ```ts
 * import { contentDigest } from "callwire/security/signing";
 *
 * const body = '{"jsonrpc":"2.0","method":"echo","params":["hi"],"id":1}';
 * const headers = { "content-type": "application/json", "content-digest": contentDigest(body) };
 * ```
 */
export function contentDigest(body: string | Uint8Array): string {
  return `sha-256=${bytesText(digest("sha256", body))}`;
}

const algorithms = new Map([
  ["sha-256", "sha256"],
  ["sha-512", "sha512"],
]);

/** Whether the body matches the header: it has at least one known digest, and all known ones match. */
export function fitsContentDigest(body: string | Uint8Array, header: string): boolean {
  let known = 0;
  for (const [name, member] of parseDictionary(header) ?? []) {
    const algorithm = algorithms.get(name);
    if (algorithm === undefined) continue;
    if (isInnerList(member) || !(member.value instanceof Uint8Array)) return false;
    const own = digest(algorithm, body);
    if (own.length !== member.value.length || !timingSafeEqual(own, member.value)) return false;
    known++;
  }
  return known > 0;
}

function digest(algorithm: string, body: string | Uint8Array): Buffer {
  return createHash(algorithm).update(body).digest();
}
