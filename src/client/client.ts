/// <reference lib="esnext.disposable" preserve="true" />

import { type Clock, checkTimeout, forever, systemClock, timeUntil } from "../protocol/clock.ts";
import { defaultTimeoutMs } from "../protocol/defaults.ts";
import { WireError } from "../protocol/errors.ts";
import { compose, type Handle, type Middleware } from "../protocol/handle.ts";
import type { Values } from "../protocol/json-value.ts";
import type { Link, LinkState, Outgoing } from "../protocol/link.ts";
import { type Log, plainLog } from "../protocol/log.ts";
import { nextId, noTypes, type Params, type Request } from "../protocol/message.ts";
import type { Version } from "../protocol/parse.ts";
import { Running } from "../protocol/running.ts";
import type { AnyValueType } from "../protocol/value-types.ts";
import { BatchCollector, type BatchingOptions, batching } from "./batching.ts";
import type { Api, StreamResult } from "./contract.ts";
import type { CallArguments, CallOf, ItemOf, Known, NameOf } from "./named-call.ts";
import {
  type AnyCallOptions,
  type CallOptions,
  type Idempotent,
  isIdempotent,
  OutgoingCall,
} from "./outgoing-call.ts";
import { apiProxy } from "./proxy.ts";
import { readItems, wholeResult } from "./result.ts";
import type { RichCalls } from "./rich-calls.ts";
import { runCall } from "./run-call.ts";

declare const methodTypes: unique symbol;

// biome-ignore lint/suspicious/noExplicitAny: options without a contract are for any methods
export interface ClientOptions<M = any, V extends Values = "json"> {
  /** For types only: the methods of `contractOptions`. */
  readonly [methodTypes]?: M;
  /** Middleware around every call; the first is the outermost. @default none */
  readonly use?: readonly Middleware[];
  /** How long a call may take; `Infinity` means no limit. @default 60000 (`defaultTimeoutMs`) */
  readonly timeoutMs?: number;
  /** Sends calls made close together as one payload. @default false */
  readonly batch?: boolean | BatchingOptions;
  /** Joins the names of nested groups; must match the server. @default "/" */
  readonly separator?: string;
  /** Methods that may run twice, so that their calls may be sent again: names, or a function of the name. @default none */
  readonly idempotent?: Idempotent;
  /** The JSON-RPC version of the server. @default "2.0" */
  readonly version?: Version;
  /**
   * "rich" sends and receives `Date`, `bigint`, `Map`, `Set`, `URL`, `Uint8Array` and other values that JSON cannot
   * express, and the types follow; needs a callwire server. @default "json"
   */
  readonly values?: V;
  /** More types of rich values, the same as on the server. @default none */
  readonly types?: readonly AnyValueType[];
  /** Where the client logs what its callers cannot see. @default warnings and errors to the console */
  readonly log?: Log;
  /** Measures timeouts; for tests. @default the system clock */
  readonly clock?: Clock;
}

/** The options of a client with rich values. */
export type RichOptions<M> = ClientOptions<M, "rich"> & { readonly values: "rich" };

type Tuple = readonly Promise<unknown>[];
type Results<T extends Tuple> = { -readonly [K in keyof T]: Awaited<T[K]> };
type Outcomes<T extends Tuple> = { -readonly [K in keyof T]: PromiseSettledResult<Awaited<T[K]>> };

// biome-ignore lint/suspicious/noExplicitAny: the same holds for the values of a client
type ValuesOf<M> = unknown extends M ? any : "json";

/** Calls the methods of a server over a link. */
// biome-ignore lint/suspicious/noExplicitAny: functions taking an untyped Client must accept typed ones
export class Client<M = any, V extends Values = ValuesOf<M>> implements AsyncDisposable {
  /** The methods of the server: `api.math.add({ a: 2, b: 3 })`. */
  readonly api: Api<M, V>;
  readonly #link: Link;
  readonly #options: ClientOptions<M, Values>;
  readonly #defaults: CallOptions;
  readonly #handle: Handle;
  readonly #running: Running;
  readonly #isIdempotent: (method: string) => boolean;
  #rich: RichCalls | Promise<RichCalls> | undefined;

  constructor(
    link: Link,
    options: ClientOptions<M, Values> = {},
    defaults: CallOptions = {},
    running?: Running,
  ) {
    checkTimeout(options.timeoutMs);
    checkTimeout(defaults.timeoutMs);
    // The file that is loaded rejects what is not "rich".
    if (options.values && options.values !== "json") {
      this.#rich = import("./rich-calls.ts").then(({ RichCalls }) => {
        this.#rich = new RichCalls(options);
        return this.#rich;
      });
      // Each call fails with the reason.
      this.#rich.catch(() => {});
    }
    this.#options = options;
    this.#defaults = defaults;
    this.#link = link;
    this.#running = running ?? new Running(options.clock ?? systemClock, true);
    this.#handle = this.#through((request, call) => link.send(request, call));
    this.#isIdempotent = isIdempotent(options.idempotent);
    this.api = apiProxy(options.separator ?? "/", (name, params, own) =>
      this.#start(name, params, this.#merge(own)),
    ) as Api<M, V>;
  }

  /**
   * Calls a method by its full name, with params by name or by position. A name that the type of the methods does not
   * have needs the type of its result: `call<string>("other")`.
   */
  call<Result = never, Name extends string = string>(
    method: NameOf<"method", M, Name, Result>,
    ...rest: CallArguments<M, V, Name>
  ): CallOf<M, V, Name, Result>;
  call(method: string, params?: unknown, options?: unknown): Promise<unknown> {
    return this.#start(method, params as Params, this.#merge(options), true);
  }

  /** Sends a notification. Resolves when the transport has accepted it. */
  notify<Name extends string>(
    method: Known<M, Name>,
    ...rest: CallArguments<M, V, Name>
  ): Promise<void>;
  async notify(method: string, params?: unknown, options?: unknown): Promise<void> {
    const outgoing = this.#outgoing(method, params as Params, this.#merge(options), false);
    outgoing.carriesBytes = this.#link.carriesBytes;
    await runCall(outgoing, this.#handle, this.#running);
  }

  /** Reads a stream. Leaving the loop stops the producer. */
  stream<Item = never, Name extends string = string>(
    method: NameOf<"stream", M, Name, Item>,
    ...rest: CallArguments<M, V, Name>
  ): StreamResult<ItemOf<M, V, Name, Item>>;
  stream(method: string, params?: unknown, options?: unknown): AsyncIterable<unknown> {
    const items = this.#start(method, params as Params, this.#merge(options), false);
    // The stream may fail before it is read; its reader then gets the error.
    items.catch(() => {});
    return items;
  }

  /**
   * Sends several calls as one payload: `batch((b) => [b.math.add({ a: 1, b: 2 }), b.echo("hi")])`.
   * Each call has its own promise; the batch rejects with the first failure.
   */
  batch<const T extends Tuple>(calls: (api: Api<M, V>) => T): Promise<Results<T>> {
    return Promise.all(this.#gather(calls)) as Promise<Results<T>>;
  }

  /** The same, with the outcome of each call. */
  batchSettled<const T extends Tuple>(calls: (api: Api<M, V>) => T): Promise<Outcomes<T>> {
    return Promise.allSettled(this.#gather(calls)) as Promise<Outcomes<T>>;
  }

  /** This client with other defaults for its calls: `client.with({ timeoutMs: 500 }).api.…`. */
  with(options: CallOptions): Client<M, V> {
    return new Client<M, V>(this.#link, this.#options, this.#merge(options), this.#running);
  }

  /** Whether the link has a connection; undefined for links without one, such as HTTP. */
  get state(): LinkState | undefined {
    return this.#link.states?.now;
  }

  /** Calls the listener with each new `state`; returns a function that stops it. */
  onState(listener: (state: LinkState) => void): () => void {
    return this.#link.states?.listen(listener) ?? (() => {});
  }

  /** Closes the link; open calls fail with `CLOSED`. */
  close(): Promise<void> {
    return this.#link.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The types of the methods above have checked the options. */
  #merge(options: unknown): AnyCallOptions {
    return options === undefined ? this.#defaults : { ...this.#defaults, ...(options as object) };
  }

  #gather<T extends Tuple>(calls: (api: Api<M, V>) => T): T {
    const collector = new BatchCollector(this.#link);
    const handle = this.#through((request, call) => {
      sent.add(call);
      return collector.send(request, call);
    });
    const sent = new Set<unknown>();
    const started: { readonly call: OutgoingCall; readonly value: Promise<unknown> }[] = [];
    const api = apiProxy(this.#options.separator ?? "/", (name, params, own) => {
      const call = this.#outgoing(name, params, this.#merge(own));
      call.awaited = !call.options.onProgress;
      const result = runCall(call, handle, this.#running);
      const drop = (): void => {
        if (!sent.has(call)) collector.drop();
      };
      result.then(drop, drop);
      const value = result.then((reply) => wholeResult(reply, call));
      started.push({ call, value });
      return value;
    });
    try {
      const promises = calls(api as Api<M, V>);
      collector.seal(started.length);
      return promises;
    } catch (error) {
      // Nothing else holds the promises of the earlier calls, so cancel them.
      for (const { call, value } of started) {
        value.catch(() => {});
        call.fail(new WireError("ABORTED", "the batch was not sent", { cause: error }));
      }
      throw error;
    }
  }

  /** Puts the middleware around `send`. */
  #through(send: (request: Request, call: Outgoing) => ReturnType<Link["send"]>): Handle {
    return compose(this.#options.use ?? [], (request, context) => {
      const call = context.outgoing;
      if (!call) throw new TypeError("context.outgoing is missing");
      // The call may have timed out in the middleware.
      return call.failed ? Promise.reject(call.failed) : send(request, call);
    });
  }

  #start(
    method: string,
    params: Params | undefined,
    options: AnyCallOptions,
    /** Whether a result is wanted (true) or items (false); undefined if that shows later. */
    awaited?: boolean,
  ): Promise<unknown> & AsyncIterable<unknown> {
    const call = this.#outgoing(method, params, options);
    call.carriesBytes = this.#link.carriesBytes;
    call.awaited = awaited && !options.onProgress;
    call.read = awaited === false;
    const reply = runCall(call, this.#handle, this.#running);
    const result = reply.then((came) => {
      // Its items may still be read, so the rejected result is not unhandled.
      if (call.streamed) result.catch(() => {});
      return wholeResult(came, call);
    }) as Promise<unknown> & AsyncIterable<unknown>;
    // A named function: V8 would allocate one that is assigned directly as old.
    const iterate = () => {
      call.dueAt = undefined;
      call.read = true;
      // The reader gets the failure.
      result.catch(() => {}).finally(() => call.items.end());
      return readItems(call, reply);
    };
    result[Symbol.asyncIterator] = iterate;
    return result;
  }

  #outgoing(
    method: string,
    params: Params | undefined,
    options: AnyCallOptions,
    isAnswered = true,
  ): OutgoingCall {
    const own = options.timeoutMs;
    const given = options.within?.deadline;
    const remaining = given === undefined ? undefined : timeUntil(this.#running.clock, given);
    const travels = remaining === undefined ? own : Math.min(remaining, own ?? remaining);
    const timeoutMs = travels ?? this.#options.timeoutMs ?? defaultTimeoutMs;
    const request: Request = {
      jsonrpc: this.#options.version === "1.0" ? undefined : "2.0",
      method,
      params,
      id: isAnswered ? nextId() : undefined,
      timeoutMs: travels === forever ? undefined : travels,
      types: this.#rich && noTypes,
    };
    const call = new OutgoingCall(
      request,
      options,
      timeoutMs === forever ? undefined : timeoutMs,
      options.idempotent ?? this.#isIdempotent(method),
      this.#options.log ?? plainLog,
      this.#running.clock,
      this.#rich,
    );
    call.link = this.#link;
    return call;
  }
}

/**
 * Creates a client for a link: `createClient<typeof methods>(httpLink(url))`.
 * @example
 * ```ts
 * import { createClient } from "callwire";
 * import { httpLink } from "callwire/http";
 *
 * const client = createClient<typeof methods>(httpLink("http://127.0.0.1:8000/rpc"));
 * const sum = await client.api.math.add({ a: 2, b: 3 }); // its type is number
 * await client.close();
 * ```
 */
export function createClient<M = unknown>(link: Link, options: RichOptions<M>): Client<M, "rich">;
export function createClient<M = unknown>(link: Link, options?: ClientOptions<M>): Client<M>;
export function createClient<M>(
  link: Link,
  options: ClientOptions<M, Values> = {},
): Client<M, Values> {
  if (typeof link?.send !== "function") {
    throw new TypeError("createClient needs a link, such as httpLink(url)");
  }
  const { batch, clock } = options;
  const wire = batch ? batching(link, { clock, ...(batch as BatchingOptions) }) : link;
  return new Client<M, Values>(wire, options);
}
