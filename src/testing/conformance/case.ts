/** The parts of the list, in the order in which they run. */
export const conformanceGroups = [
  "core",
  "ids",
  "params",
  "versions",
  "batch",
  "errors",
  "limits",
  "http",
  "framing",
  "security",
] as const;

export type ConformanceGroup = (typeof conformanceGroups)[number];

/** MUST and SHOULD are the specification's words; hygiene is what a server owes itself. */
export const conformanceLevels = ["MUST", "SHOULD", "hygiene"] as const;

export type ConformanceLevel = (typeof conformanceLevels)[number];

/** What a wire can do beyond sending a message and hearing the answer. */
export type WireAbility =
  | "http"
  /** Any bytes in place of an HTTP request, and headers that browsers do not let pages set. */
  | "raw-http"
  | "websocket"
  /** Headers of its choice in the handshake, and messages in fragments. */
  | "raw-websocket"
  /** A stream of bytes, which can be cut anywhere. */
  | "stream"
  | "newline"
  | "content-length"
  | "length-prefix"
  /** The server is on this machine. */
  | "loopback";

/** Text with parts that are repeated, so that a long message is short in the list. */
export type Text = string | readonly (string | Repeat)[];

export interface Repeat {
  readonly repeat: string;
  readonly times: number;
}

/** What is sent. `<add>`, `<echo>` and `<fail>` in a text stand for methods of the server. */
export type Outgoing =
  /** One message, as the wire sends messages. In `bytes` each character is one byte, valid UTF-8 or not. */
  | { readonly kind: "message"; readonly text: Text; readonly bytes?: boolean }
  /** Messages written one after the other to a stream of bytes, cut into so many pieces. */
  | { readonly kind: "pieces"; readonly messages: readonly string[]; readonly pieces: number }
  /** Exactly these bytes, each character one byte. Over HTTP `{host}`, `{path}` and `{headers}` are filled in. */
  | { readonly kind: "raw"; readonly text: Text }
  /** One WebSocket message of another kind than a whole text frame. */
  | { readonly kind: "frame"; readonly text: string; readonly form: "binary" | "fragments" }
  /** An HTTP request; a header of null is left out. */
  | {
      readonly kind: "request";
      readonly verb: string;
      readonly headers: Readonly<Record<string, string | null>>;
      readonly body: string;
    }
  /** A handshake with these headers; nothing is sent after it. */
  | { readonly kind: "handshake"; readonly headers: Readonly<Record<string, string>> };

/** A response object. Its form (version, result or error, id) is judged always. */
export interface ReplyPattern {
  /** The ids that it may have, each as JSON has it. Digits are compared as they are written. */
  readonly ids: readonly string[];
  /** The codes that its error may have. Without codes and result, anything goes. */
  readonly codes?: readonly number[] | "any";
  /** The result as JSON has it. */
  readonly result?: string;
}

/** How an answer is judged. */
export type Expectation =
  | { readonly kind: "nothing" }
  | { readonly kind: "reply"; readonly reply: ReplyPattern }
  /** One array, in any order. */
  | { readonly kind: "batch"; readonly replies: readonly ReplyPattern[] }
  /** Messages of their own, in any order. */
  | { readonly kind: "replies"; readonly replies: readonly ReplyPattern[] }
  /** An error with none of these codes, a status of 400 to 599, or the end of the connection. */
  | { readonly kind: "refusal"; readonly except?: readonly number[] }
  /** Any answer or the end of the connection, but no silence. */
  | { readonly kind: "settled" }
  | { readonly kind: "status"; readonly from: number; readonly to: number }
  /** A reply, with this type of content. */
  | { readonly kind: "content-type"; readonly type: string }
  /** Pages of this origin get no leave to read the answer. */
  | { readonly kind: "closed-to-origin"; readonly origin: string }
  /** A reply in version 1.0. */
  | { readonly kind: "version-1"; readonly id: string }
  | { readonly kind: "all"; readonly of: readonly Expectation[] }
  | { readonly kind: "one-of"; readonly of: readonly Expectation[] };

export interface ConformanceExchange {
  readonly send: Outgoing;
  readonly expect: Expectation;
  /** Regular expressions that nothing in the answer may match, each with its name for people. */
  readonly hides?: Readonly<Record<string, string>>;
  /** Gets five times the time-out, since so much is sent. */
  readonly slow?: boolean;
}

/** One thing that a server is asked to do right. Pure data, which JSON can hold. */
export interface ConformanceCase {
  /** Unique and lasting, such as `ids/zero`. */
  readonly id: string;
  readonly group: ConformanceGroup;
  readonly level: ConformanceLevel;
  readonly title: string;
  /** What the specification says, in our words. */
  readonly says: string;
  /** Where it says so. */
  readonly section: string;
  /** Wires without these are passed over. */
  readonly needs?: readonly WireAbility[];
  readonly exchanges: readonly ConformanceExchange[];
}
