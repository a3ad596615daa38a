/** One line of a recording: a message that crossed the wire, without what is secret. */
export interface RecordedMessage {
  readonly time: string;
  /** Messages of one WebSocket, or of one HTTP request and its answer, share it. */
  readonly connection: number;
  readonly wire: "http" | "websocket";
  readonly from: "client" | "server";
  /** A message or a batch; undefined where the text was no JSON. */
  readonly message?: unknown;
  /** How long the text was that was no JSON. */
  readonly unreadable?: number;
  readonly status?: number;
}

/** What stands in place of a secret; whatever a later run says there counts as the same. */
export const redactedText = "[redacted]";
