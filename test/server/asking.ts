/** Calls a server in process, as a wire would. */
import type { ErrorObject, Log, Origin, Server } from "callwire";

export interface Response {
  readonly jsonrpc: "2.0";
  readonly result?: unknown;
  readonly error?: ErrorObject;
  readonly id: unknown;
}

export function requestText(method: string, params?: unknown, members: object = {}): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params, id: 1, ...members });
}

/** One call by name, with its response. */
export async function ask(
  server: Server,
  method: string,
  params?: unknown,
  origin?: Origin,
): Promise<Response> {
  return JSON.parse((await server.receive(requestText(method, params), origin)) as string);
}

export interface Issue {
  readonly path: readonly unknown[];
  readonly message: string;
}

/** What is wrong with the params, in the words of the server. */
export function issuesOf({ error }: Response): readonly Issue[] {
  return ((error?.data ?? {}) as { issues?: Issue[] }).issues ?? [];
}

export interface LogEntry {
  readonly level: keyof Log;
  readonly fields: Record<string, unknown>;
  readonly message: string;
}

/** Keeps the log entries. */
export class RecordingLog implements Log {
  readonly entries: LogEntry[] = [];

  debug(fields: object, message: string): void {
    this.entries.push({ level: "debug", fields: { ...fields }, message });
  }

  info(fields: object, message: string): void {
    this.entries.push({ level: "info", fields: { ...fields }, message });
  }

  warn(fields: object, message: string): void {
    this.entries.push({ level: "warn", fields: { ...fields }, message });
  }

  error(fields: object, message: string): void {
    this.entries.push({ level: "error", fields: { ...fields }, message });
  }
}

/** A promise that a test settles by hand. */
export class Gate<T = unknown> {
  readonly promise: Promise<T>;
  open!: (value: T) => void;
  fail!: (reason: unknown) => void;

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.open = resolve;
      this.fail = reject;
    });
  }
}
