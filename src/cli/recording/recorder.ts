import { createWriteStream, type WriteStream } from "node:fs";
import { printableLines } from "callwire";
import type { Redact } from "callwire/observability";

type Place = Pick<RecordedMessage, "connection" | "wire" | "from" | "status">;

/** Writes messages to a file, one line each. */
export class Recorder {
  readonly #file: WriteStream;
  readonly #redact: Redact;
  /** Rejects when the file cannot be written. */
  readonly failed: Promise<never>;
  count = 0;

  constructor(path: string, redact: Redact) {
    this.#redact = redact;
    // Only its owner reads it: what secrets are called is a guess.
    this.#file = createWriteStream(path, { mode: 0o600 });
    this.failed = new Promise((_, reject) => this.#file.once("error", reject));
    this.failed.catch(() => {});
  }

  add(place: Place, text: string): void {
    if (text === "") return;
    const time = new Date().toISOString();
    const write = (said: Pick<RecordedMessage, "message" | "unreadable">): string =>
      printableLines(JSON.stringify({ time, ...place, ...said } satisfies RecordedMessage));
    let line: string;
    try {
      line = write(this.#read(text));
    } catch {
      // What nests deeper than the stack is can be read, but not written.
      line = write({ unreadable: text.length });
    }
    this.#file.write(`${line}\n`);
    this.count++;
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#file.end(() => resolve()));
  }

  #read(text: string): Pick<RecordedMessage, "message" | "unreadable"> {
    let payload: unknown;
    try {
      payload = JSON.parse(text);
    } catch {
      return { unreadable: text.length };
    }
    return {
      message: Array.isArray(payload)
        ? payload.map((entry) => this.#hidden(entry))
        : this.#hidden(payload),
    };
  }

  /** The envelope stays as it is; what a method was given and gave does not. */
  #hidden(message: unknown): unknown {
    if (typeof message !== "object" || message === null) return message;
    const { params, result, error, ...rest } = message as Record<string, unknown>;
    return {
      ...rest,
      ...(params === undefined ? {} : { params: this.#redact(params, "params") }),
      ...(result === undefined ? {} : { result: this.#redact(result, "result") }),
      ...(error === undefined ? {} : { error: this.#redact(error, "error") }),
    };
  }
}

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
