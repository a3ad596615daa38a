import { isEventStream } from "../../http/client-exchange.ts";
import { EventStreamDecoder } from "../../http/event-stream.ts";
import type { Outgoing } from "./case.ts";
import { request } from "./case-builders.ts";
import type {
  ExchangeAnswer,
  ExchangeRequest,
  ExchangeWire,
  Received,
} from "./conformance-wire.ts";
import { bytesOf, written } from "./payload.ts";
import {
  isOwnCall,
  reasonOf,
  type Session,
  type SessionSettings,
  type Unresponsive,
} from "./session.ts";

const usual = { "content-type": "application/json", accept: "application/json" };
const longestEvent = 32 * 1024 * 1024;

/** A session over HTTP, where each request has its own response. */
export class HttpSession implements Session {
  readonly #wire: ExchangeWire;
  readonly #settings: SessionSettings;
  hint: string | undefined;

  constructor(wire: ExchangeWire, settings: SessionSettings) {
    this.#wire = wire;
    this.#settings = settings;
  }

  async exchange(send: Outgoing, wanted: number, timeoutMs: number): Promise<Received> {
    const { signal } = this.#settings;
    const late = AbortSignal.timeout(timeoutMs);
    try {
      return receivedFrom(await this.#send(send, wanted, AbortSignal.any([signal, late])));
    } catch (error) {
      signal.throwIfAborted();
      return late.aborted
        ? { messages: [], timedOut: true }
        : { messages: [], timedOut: false, ended: reasonOf(error) };
    }
  }

  #send(send: Outgoing, wanted: number, signal: AbortSignal): Promise<readonly ExchangeAnswer[]> {
    const { fixtures } = this.#settings;
    switch (send.kind) {
      case "message": {
        const text = written(send.text, fixtures);
        return this.#post({ body: send.bytes ? bytesOf(text) : text }, signal);
      }
      case "request": {
        const headers = Object.entries({ ...usual, ...send.headers }).filter(
          (entry): entry is [string, string] => entry[1] !== null,
        );
        const body = written(send.body, fixtures);
        return this.#post({ verb: send.verb, headers: Object.fromEntries(headers), body }, signal);
      }
      case "raw": {
        const { raw, places } = this.#wire;
        if (raw === undefined || places === undefined) break;
        const text = written(send.text, fixtures).replace(
          /\{(host|path|headers)\}/g,
          (_, name: keyof typeof places) => places[name],
        );
        this.#settings.meter.count(text);
        return raw(bytesOf(text), wanted, signal);
      }
    }
    return Promise.reject(new Error(`a message of kind "${send.kind}" cannot be sent over HTTP`));
  }

  async #post(
    given: Partial<ExchangeRequest> & Pick<ExchangeRequest, "body">,
    signal: AbortSignal,
  ): Promise<readonly ExchangeAnswer[]> {
    this.#settings.meter.count(given.body);
    return [await this.#wire.exchange({ verb: "POST", headers: usual, ...given }, signal)];
  }

  async checkAlive(timeoutMs: number): Promise<Unresponsive | undefined> {
    const received = await this.exchange(
      { kind: "message", text: request({ id: 1 }) },
      1,
      timeoutMs,
    );
    const { http, ended, timedOut, messages } = received;
    if (timedOut) return { connected: true, reason: "it accepts the request and does not answer" };
    if (ended !== undefined) return { connected: false, reason: ended };
    // Some servers use 404 for an unknown method, but then the body has the id of the call.
    const isAnswer = messages.some((text) => /"id"\s*:\s*1\b/.test(text));
    if (http !== undefined && http.status >= 400 && !isAnswer) {
      this.hint = `The server answers calls with HTTP status ${http.status}; check the path and the credentials`;
    }
    return undefined;
  }

  reset(): void {}

  close(): void {}
}

function receivedFrom(answers: readonly ExchangeAnswer[]): Received {
  const last = answers.at(-1);
  if (last === undefined) {
    return { messages: [], timedOut: false, ended: "the connection was closed without an answer" };
  }
  const { status, headers } = last;
  return { messages: answers.flatMap(messagesIn), http: { status, headers }, timedOut: false };
}

function messagesIn({ headers, body }: ExchangeAnswer): string[] {
  if (!isEventStream(headers["content-type"])) return body.trim() === "" ? [] : [body];
  const found: string[] = [];
  const decoder = new EventStreamDecoder(longestEvent);
  decoder.push(new TextEncoder().encode(body), ({ data }) => found.push(data));
  return found.filter((text) => !isOwnCall(text));
}
