/** Groups of cases, in the order in which they run. */
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

/** MUST and SHOULD are requirements of the specification; hygiene is good practice beyond it. */
export const conformanceLevels = ["MUST", "SHOULD", "hygiene"] as const;

export type ConformanceLevel = (typeof conformanceLevels)[number];

/** What a wire can do beyond sending a message and receiving the answer. */
export type WireAbility =
  | "http"
  /** Arbitrary bytes instead of an HTTP request, and headers that browsers do not allow pages to set. */
  | "raw-http"
  | "websocket"
  /** Arbitrary headers in the handshake, and fragmented messages. */
  | "raw-websocket"
  /** A byte stream, which can be split anywhere. */
  | "stream"
  | "newline"
  | "content-length"
  | "length-prefix"
  /** The server is on this machine. */
  | "loopback";

/** A string, possibly with repeated parts, so that a long message is short in the list. */
export type Text = string | readonly (string | Repeat)[];

export interface Repeat {
  readonly repeat: string;
  readonly times: number;
}

/** What is sent. `<add>`, `<echo>` and `<fail>` are placeholders for methods of the server. */
export type Outgoing =
  /** One message. With `bytes`, each character is sent as one byte, which need not be valid UTF-8. */
  | { readonly kind: "message"; readonly text: Text; readonly bytes?: boolean }
  /** Messages written one after the other to a byte stream, split into this number of pieces. */
  | { readonly kind: "pieces"; readonly messages: readonly string[]; readonly pieces: number }
  /** Exactly these bytes, one per character. Over HTTP, `{host}`, `{path}` and `{headers}` are filled in. */
  | { readonly kind: "raw"; readonly text: Text }
  /** One WebSocket message that is not a single text frame. */
  | { readonly kind: "frame"; readonly text: string; readonly form: "binary" | "fragments" }
  /** An HTTP request; a header whose value is null is not sent. */
  | {
      readonly kind: "request";
      readonly verb: string;
      readonly headers: Readonly<Record<string, string | null>>;
      readonly body: string;
    }
  /** A WebSocket handshake with these headers, and nothing after it. */
  | { readonly kind: "handshake"; readonly headers: Readonly<Record<string, string>> };

/** A Response object. Its structure (version, result or error, id) is always checked. */
export interface ReplyPattern {
  /** Accepted ids, each as JSON text. Numbers are compared digit by digit. */
  readonly ids: readonly string[];
  /** Accepted error codes. Without `codes` and `result`, any response is accepted. */
  readonly codes?: readonly number[] | "any";
  /** The result, as JSON text. */
  readonly result?: string;
}

/** What the answer must be. */
export type Expectation =
  | { readonly kind: "nothing" }
  | { readonly kind: "reply"; readonly reply: ReplyPattern }
  /** One array with these responses, in any order. */
  | { readonly kind: "batch"; readonly replies: readonly ReplyPattern[] }
  /** Separate messages, in any order. */
  | { readonly kind: "replies"; readonly replies: readonly ReplyPattern[] }
  /** An error with none of these codes, an HTTP status from 400 to 599, or a closed connection. */
  | { readonly kind: "refusal"; readonly except?: readonly number[] }
  /** Any answer or a closed connection, but not a timeout. */
  | { readonly kind: "settled" }
  | { readonly kind: "status"; readonly from: number; readonly to: number }
  /** A response with this content type. */
  | { readonly kind: "content-type"; readonly type: string }
  /** CORS does not allow pages of this origin to read the response. */
  | { readonly kind: "closed-to-origin"; readonly origin: string }
  /** A response of version 1.0. */
  | { readonly kind: "version-1"; readonly id: string }
  | { readonly kind: "all"; readonly of: readonly Expectation[] }
  | { readonly kind: "one-of"; readonly of: readonly Expectation[] };

export interface ConformanceExchange {
  readonly send: Outgoing;
  readonly expect: Expectation;
  /** Regular expressions that the answer must not match, by the name used in reports. */
  readonly hides?: Readonly<Record<string, string>>;
  /** Allows five times the timeout, for large messages. */
  readonly slow?: boolean;
}

/** One requirement on a server, as plain data that can be written as JSON. */
export interface ConformanceCase {
  /** Unique and stable, such as `ids/zero`. */
  readonly id: string;
  readonly group: ConformanceGroup;
  readonly level: ConformanceLevel;
  readonly title: string;
  /** The requirement, paraphrased from the specification. */
  readonly says: string;
  /** Section of the specification. */
  readonly section: string;
  /** Abilities that the wire must have; otherwise the case is skipped. @default none */
  readonly needs?: readonly WireAbility[];
  readonly exchanges: readonly ConformanceExchange[];
}
