import { isRecord } from "../../protocol/record.ts";
import type { Outgoing } from "./case.ts";
import { request } from "./case-builders.ts";
import type { Line, LineListener, LineWire, Received } from "./conformance-wire.ts";
import { bytesOf, written } from "./payload.ts";
import {
  isOwnCall,
  reasonOf,
  type Session,
  type SessionSettings,
  type Unresponsive,
} from "./session.ts";

/** How long to wait for unexpected messages after all expected ones arrived. */
const quietMs = 15;
/** Most characters read from one connection; stops a server that floods the run. */
const mostReceived = 128 * 1024 * 1024;
/** Far above any id that the cases use. */
const firstProbe = 900_000_000;

/**
 * A session over a connection, where no answer and a late answer look the same. So a probe, a call
 * that any server answers, follows each message; once it is answered, so should the message be.
 */
export class ConnectionSession implements Session {
  readonly hint = undefined;
  readonly #wire: LineWire;
  readonly #settings: SessionSettings;
  #open: OpenLine | undefined;
  #probes = 0;
  /** False for a server that does not answer probes with their ids. */
  #answersProbes = true;

  constructor(wire: LineWire, settings: SessionSettings) {
    this.#wire = wire;
    this.#settings = settings;
  }

  async exchange(send: Outgoing, wanted: number, timeoutMs: number): Promise<Received> {
    if (send.kind === "handshake") return this.#handshake(send.headers, timeoutMs);
    const { signal } = this.#settings;
    const open = await this.#ready(timeoutMs);
    if (typeof open === "string") {
      return { messages: [], timedOut: false, ended: `no connection: ${open}` };
    }
    open.messages = [];
    await this.#send(open.line, send);
    const probe = send.kind === "raw" || !this.#answersProbes ? undefined : this.#probe(open);
    const answered = (): boolean => probe === undefined || open.answersTo(probe);
    // Without a probe, only the timeout shows that no answer comes.
    const canEnd = probe !== undefined || wanted > 0;
    const withTimeout = await open.until(
      () => canEnd && answered() && open.messages.length >= wanted,
      timeoutMs,
      signal,
    );
    if (withTimeout) await open.until(() => false, quietMs, signal);
    const stuck = !answered() && open.ended === undefined;
    const received: Received = {
      messages: open.messages,
      timedOut: !withTimeout && (wanted > 0 ? open.messages.length < wanted : stuck),
      ...(open.ended === undefined ? undefined : { ended: open.ended, crashed: open.crashed }),
      stuck,
    };
    // Rests of broken frames and late answers must not reach the next case.
    if (!withTimeout || send.kind === "raw") this.#drop();
    return received;
  }

  async checkAlive(timeoutMs: number): Promise<Unresponsive | undefined> {
    this.#drop();
    const { signal } = this.#settings;
    const open = await this.#ready(timeoutMs);
    if (typeof open === "string") return { connected: false, reason: open };
    const probe = this.#probe(open);
    await open.until(() => open.answersTo(probe), timeoutMs, signal);
    if (open.answersTo(probe)) return undefined;
    this.#drop();
    if (open.messages.length > 0) {
      this.#answersProbes = false;
      return undefined;
    }
    const reason = open.ended ?? "it accepts the connection and does not answer";
    return { connected: true, reason };
  }

  reset(): void {
    if (!this.#wire.ownsServer) this.#drop();
  }

  close(): void {
    this.#drop();
  }

  #drop(): void {
    this.#open?.line.close();
    this.#open = undefined;
  }

  /** The open connection, or why there is none. */
  async #ready(timeoutMs: number): Promise<OpenLine | string> {
    if (this.#open !== undefined && this.#open.ended === undefined) return this.#open;
    const { signal } = this.#settings;
    const late = AbortSignal.timeout(timeoutMs);
    const open = new OpenLine();
    try {
      open.line = await this.#wire.open(open, AbortSignal.any([signal, late]));
    } catch (error) {
      signal.throwIfAborted();
      return reasonOf(error);
    }
    this.#open = open;
    return open;
  }

  #probe({ line, probes }: OpenLine): number {
    const id = firstProbe + ++this.#probes;
    const text = request({ id });
    this.#settings.meter.count(text);
    probes.add(id);
    line.send(text);
    return id;
  }

  async #send(line: Line, send: Outgoing): Promise<void> {
    const { fixtures, meter } = this.#settings;
    switch (send.kind) {
      case "message": {
        const text = written(send.text, fixtures);
        meter.count(text);
        line.send(send.bytes ? bytesOf(text) : text);
        break;
      }
      case "frame":
        meter.count(send.text);
        line.frame?.(send.text, send.form);
        break;
      case "raw": {
        const bytes = bytesOf(written(send.text, fixtures));
        meter.count(bytes);
        line.write?.(bytes);
        break;
      }
      case "pieces": {
        const encoded = send.messages.map((text) => line.encode?.(text) ?? new Uint8Array());
        for (const each of encoded) meter.count(each);
        for (const piece of piecesOf(joined(encoded), send.pieces)) {
          line.write?.(piece);
          // Yields to the event loop, so that each piece is written separately.
          await new Promise((resolve) => setTimeout(resolve, 0));
        }
      }
    }
  }

  async #handshake(
    headers: Readonly<Record<string, string>>,
    timeoutMs: number,
  ): Promise<Received> {
    const { signal, meter } = this.#settings;
    const late = AbortSignal.timeout(timeoutMs);
    meter.count("");
    try {
      await this.#wire.handshake?.(headers, AbortSignal.any([signal, late]));
      return { messages: [], timedOut: false, taken: true };
    } catch (error) {
      signal.throwIfAborted();
      if (late.aborted) return { messages: [], timedOut: true };
      return { messages: [], timedOut: false, ended: `refused: ${reasonOf(error)}` };
    }
  }
}

const closedLine: Line = { send() {}, close() {} };

/** A connection, and what arrived over it. */
class OpenLine implements LineListener {
  /** Set once `open` resolves; messages may arrive before that. */
  line: Line = closedLine;
  messages: string[] = [];
  ended: string | undefined;
  crashed = false;
  /** Probes that await their answer. */
  readonly probes = new Set<number>();
  #received = 0;
  #wake: () => void = () => {};

  message(text: string): void {
    this.#received += text.length;
    if (this.#received > mostReceived) {
      this.end(`the server sent more than ${mostReceived} characters`);
      this.line.close();
      return;
    }
    if (!isOwnCall(text) && !this.#isProbe(text)) this.messages.push(text);
    this.#wake();
  }

  end(reason: string, crashed = false): void {
    this.ended ??= reason;
    this.crashed ||= crashed;
    this.#wake();
  }

  answersTo(probe: number): boolean {
    return !this.probes.has(probe);
  }

  #isProbe(text: string): boolean {
    if (!text.includes("900000")) return false;
    try {
      const value: unknown = JSON.parse(text);
      return isRecord(value) && this.probes.delete(value.id as number);
    } catch {
      return false;
    }
  }

  /** Resolves with true once the condition holds or the connection ended, with false on timeout. */
  until(holds: () => boolean, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const settle = (run: () => void): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
        this.#wake = () => {};
        run();
      };
      const abort = (): void => settle(() => reject(signal.reason));
      const timer = setTimeout(() => settle(() => resolve(false)), timeoutMs);
      signal.addEventListener("abort", abort);
      this.#wake = () => {
        if (this.ended !== undefined || holds()) settle(() => resolve(true));
      };
      if (signal.aborted) abort();
      else this.#wake();
    });
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function piecesOf(bytes: Uint8Array, count: number): Uint8Array[] {
  const size = Math.max(1, Math.ceil(bytes.length / count));
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return pieces;
}
