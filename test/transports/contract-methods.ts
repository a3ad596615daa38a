/**
 * The methods that the contract of a wire calls. A server in another process has the same ones:
 * `serverOf(fixture)` with a fixture that travelled there as JSON.
 */
import { createHash, randomBytes } from "node:crypto";
import {
  byteStream,
  createClient,
  createServer,
  isRpcError,
  type Limits,
  type Methods,
  method,
  RpcError,
  type Server,
  silentLog,
  stream,
} from "callwire";
import { z } from "zod";
import { serverOf as conformanceServerOf, type ProfileName } from "../conformance/profiles.ts";

/** Describes the server of a wire in values that can be sent to another process. */
export interface Fixture {
  readonly profile: "contract" | ProfileName;
  readonly limits?: Partial<Limits>;
}

export function serverOf(fixture: Fixture): Server {
  if (fixture.profile !== "contract") return conformanceServerOf(fixture.profile);
  let draining = (): boolean => false;
  const server = createServer(
    contractMethods(() => draining()),
    { log: silentLog, limits: fixture.limits ?? {} },
  );
  draining = () => server.answerer.draining;
  return server;
}

/** Events in the server, for callers that wait for them instead of sleeping. */
class Journal {
  readonly #noted = new Set<string>();
  readonly #waiting = new Map<string, (() => void)[]>();

  note(event: string): void {
    this.#noted.add(event);
    for (const resolve of this.#waiting.get(event) ?? []) resolve();
    this.#waiting.delete(event);
  }

  seen(event: string): Promise<void> {
    if (this.#noted.has(event)) return Promise.resolve();
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(event) ?? [];
      waiting.push(resolve);
      this.#waiting.set(event, waiting);
    });
  }
}

/** One turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const keyed = z.object({ key: z.string() });
const valued = z.object({ values: z.array(z.unknown()) });

export type ContractMethods = ReturnType<typeof contractMethods>;

function contractMethods(draining: () => boolean) {
  const journal = new Journal();
  const counts = new Map<string, number>();
  const groups = new Map<string, (() => void)[]>();
  const told: unknown[] = [];

  return {
    echo: (value: unknown) => value,
    repeat: (text: string, count: number) => text.repeat(count),
    fail: method({}, () => {
      throw new RpcError(1001, "Refused", { reason: "because" });
    }),
    crash: method({}, async () => {
      throw new Error("secret");
    }),

    /** Answers all calls of a group at once, the last first, when the group is complete. */
    gather: method(
      { params: z.object({ key: z.string(), count: z.number(), value: z.number() }) },
      ({ key, count, value }) =>
        new Promise<number>((resolve) => {
          const group = groups.get(key) ?? [];
          groups.set(key, group);
          if (group.push(() => resolve(value)) < count) return;
          // Later, so that no call of the group is answered in the turn in which it arrived.
          void turn().then(() => {
            for (const answer of group.reverse()) answer();
          });
        }),
    ),

    /** Stays open until `<key> released` is noted; ends early when it is cancelled. */
    hold: method({ params: keyed, result: z.string() }, ({ key }, call) => {
      journal.note(`${key} started`);
      return new Promise<string>((resolve, reject) => {
        call.signal.addEventListener("abort", () => {
          journal.note(`${key} aborted`);
          reject(call.signal.reason);
        });
        void journal.seen(`${key} released`).then(() => resolve("released"));
      });
    }),
    /** The same, ignoring its signal. */
    deaf: method({ params: keyed, result: z.string() }, async ({ key }) => {
      journal.note(`${key} started`);
      await journal.seen(`${key} released`);
      journal.note(`${key} done`);
      return "released";
    }),
    note: method({ params: z.object({ event: z.string() }) }, ({ event }) => journal.note(event)),
    seen: method({ params: z.object({ event: z.string() }) }, ({ event }) => journal.seen(event)),
    counted: method({ params: keyed }, ({ key }) => counts.get(key) ?? 0),

    tell: (value: unknown) => void told.push(value),
    told: () => told,
    push: method({ params: z.object({ count: z.number() }) }, ({ count }, call) => {
      for (let i = 0; i < count; i++) call.notify("pushed", [i]);
      return count;
    }),
    /** Sends notifications without a pause until the caller is disconnected. */
    flood: method(
      { params: z.object({ key: z.string(), most: z.number() }) },
      async (params, call) => {
        const { key, most } = params;
        const filler = "x".repeat(1024);
        let sent = 0;
        while (sent < most && call.notify("pushed", [filler])) {
          counts.set(key, ++sent);
          await turn();
        }
        journal.note(`${key} stopped`);
        return sent;
      },
    ),

    back: method(
      { params: z.object({ method: z.string(), params: z.array(z.unknown()).optional() }) },
      async (params, call) => {
        try {
          return await call.peer.call(params.method, params.params);
        } catch (error) {
          // The reply of the peer is not passed on automatically.
          if (isRpcError(error)) throw new RpcError(error.code, error.message, error.data);
          throw error;
        }
      },
    ),
    /** Calls the same method of the peer, which calls it here, this many levels deep. */
    nest: method({ params: z.object({ depth: z.number() }) }, nest),
    /** Asks the peer how much time this call has left. */
    relayed_deadline: method({}, (_, call) =>
      createClient(call.peer).call("deadline", undefined, { within: call }),
    ),
    deadline: method({}, (_, call) => remaining(call.deadline)),

    /** Reports each step when `<key> step <n>` is noted, and ends with the last. */
    steps: method(
      { params: z.object({ key: z.string(), count: z.number() }) },
      async (params, call) => {
        const { key, count } = params;
        for (let step = 1; step <= count; step++) {
          await journal.seen(`${key} step ${step}`);
          call.progress(step);
        }
        await journal.seen(`${key} released`);
        return "done";
      },
    ),
    /** Reports once, after some time, and returns by how much that moved its deadline. */
    renewed: method({}, async (_, call) => {
      const first = Number(call.deadline);
      const start = Date.now();
      while (Date.now() < start + 30) await turn();
      call.progress("alive");
      return Number(call.deadline) - first;
    }),
    reports: method({ params: z.object({ count: z.number() }) }, async ({ count }, call) => {
      for (let i = 0; i < count; i++) call.progress(i);
      return count;
    }),

    count: stream({ params: z.object({ to: z.number() }) }, async function* ({ to }) {
      for (let i = 0; i < to; i++) yield i;
    }),
    fails_after: stream({ params: z.object({ items: z.number() }) }, async function* ({ items }) {
      for (let i = 0; i < items; i++) yield i;
      throw new RpcError(1002, "Broken off", { items });
    }),
    /** If its reader is to be `heard` first, waits after the first item until `<key> heard` is noted. */
    endless: stream(
      {
        params: z.object({
          key: z.string(),
          bytes: z.number().default(0),
          heard: z.boolean().default(false),
        }),
      },
      async function* ({ key, bytes, heard }) {
        try {
          for (let i = 0; ; i++) {
            if (heard && i === 1) await journal.seen(`${key} heard`);
            counts.set(key, i + 1);
            // As long on a wire that compresses, which would also find repetitions of earlier
            // items.
            yield { i, filler: randomBytes(bytes).toString("base64").slice(0, bytes) };
          }
        } finally {
          journal.note(`${key} left`);
        }
      },
    ),
    /** Counts the items that it has made; after the first it waits until `<key> heard` is noted. */
    counting: stream(
      { params: z.object({ key: z.string(), to: z.number() }) },
      async function* (params) {
        const { key, to } = params;
        for (let i = 0; i < to; i++) {
          if (i === 1) await journal.seen(`${key} heard`);
          counts.set(key, i + 1);
          yield i;
        }
      },
    ),

    /** Each sends the values back, as something other than a result. */
    items_of: stream({ params: valued }, async function* ({ values }) {
      yield* values;
    }),
    reports_of: method({ params: valued }, async ({ values }, call) => {
      for (const value of values) call.progress(value);
      return null;
    }),
    mirrored: method({ params: z.object({ value: z.unknown() }) }, ({ value }, call) =>
      createClient(call.peer, { values: "rich" }).call("mirror", [value]),
    ),
    refuse_with: (value: unknown) => {
      throw new RpcError(1004, "Refused", value);
    },

    /** Reads a file, and returns its description. */
    weigh: method({ params: z.object({ file: z.instanceof(Blob) }) }, async ({ file }) => ({
      size: file.size,
      type: file.type,
      name: file instanceof File ? file.name : undefined,
      hash: await hashOf(file.stream()),
    })),
    /** Sends back a file in three forms. */
    copies: method({ params: z.object({ file: z.instanceof(Blob) }) }, async ({ file }) => {
      const bytes = new Uint8Array(await file.arrayBuffer());
      const { type } = file;
      return {
        bytes,
        blob: new Blob([bytes], { type }),
        file: new File([bytes], "copy", { type }),
      };
    }),
    /** Reads a stream when `<key> read` is noted, and notes a failure. */
    drink: method(
      {
        params: z.object({ key: z.string(), bytes: z.instanceof(ReadableStream<Uint8Array>) }),
        limits: { maxFileBytes: 5_000_000 },
      },
      async ({ key, bytes }) => {
        journal.note(`${key} started`);
        await journal.seen(`${key} read`);
        try {
          return await hashOf(bytes);
        } catch (error) {
          journal.note(`${key} broken`);
          throw error;
        }
      },
    ),
    /** A stream of this many bytes, which counts the bytes that were requested. */
    pour: method(
      { params: z.object({ key: z.string(), length: z.number() }), result: byteStream() },
      ({ key, length }) => {
        let left = length;
        return new ReadableStream<Uint8Array>(
          {
            pull(controller) {
              const bytes = new Uint8Array(Math.min(left, 65_536)).fill(7);
              left -= bytes.length;
              counts.set(key, length - left);
              if (bytes.length > 0) controller.enqueue(bytes);
              else controller.close();
            },
            cancel: () => journal.note(`${key} left`),
          },
          { highWaterMark: 0 },
        );
      },
    ),
    /** Sends a file to the peer. */
    delivered: method({ params: z.object({ length: z.number() }) }, async ({ length }, call) => {
      const client = createClient(call.peer, { values: "rich" });
      return client.call("received", [new Blob([new Uint8Array(length).fill(5)])]);
    }),

    /** Adds up the uploaded items. */
    sum: method({ upload: z.number(), result: z.number() }, async (_, call) => {
      let sum = 0;
      for await (const item of call.upload) sum += item;
      return sum;
    }),
    /** Reads this many items, and answers without the rest. */
    first_of: method(
      { params: z.object({ key: z.string(), count: z.number() }), upload: z.unknown() },
      async ({ key, count }, call) => {
        const items: unknown[] = [];
        if (count === 0) return items;
        for await (const item of call.upload) {
          items.push(item);
          counts.set(key, items.length);
          if (items.length === count) break;
        }
        return items;
      },
    ),
    /** Sends back each item as it comes. */
    parrot: stream({ upload: z.unknown() }, async function* (_, call) {
      for await (const item of call.upload) yield item;
    }),
    /** Reads one item when `<key> read` is noted, and notes how reading ended. */
    swallow: method({ params: keyed, upload: z.unknown() }, async ({ key }, call) => {
      let read = 0;
      try {
        for await (const _ of call.upload) {
          counts.set(key, ++read);
          if (read === 1) {
            journal.note(`${key} started`);
            await journal.seen(`${key} read`);
          }
        }
        journal.note(`${key} ended`);
      } catch (error) {
        journal.note(`${key} ${call.signal.aborted ? "aborted" : "failed"}`);
        throw error;
      }
      return read;
    }),

    /** Continues until the server begins to close, and a little longer. */
    until_draining: method({ params: keyed, result: z.string() }, async ({ key }) => {
      journal.note(`${key} started`);
      while (!draining()) await turn();
      for (let i = 0; i < 10; i++) await turn();
      return "finished";
    }),
  } satisfies Methods;
}

async function hashOf(bytes: ReadableStream<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of bytes) hash.update(chunk);
  return hash.digest("hex");
}

async function nest(
  { depth }: { depth: number },
  call: { readonly peer: { call(method: string, params: { depth: number }): Promise<unknown> } },
): Promise<number> {
  if (depth === 0) return 0;
  return 1 + Number(await call.peer.call("nest", { depth: depth - 1 }));
}

function remaining(deadline: number | undefined): number | null {
  return deadline === undefined ? null : deadline - Date.now();
}

/** What the client of a contract answers to its server. */
export function clientMethods(extra: Methods = {}): Methods {
  return {
    twice: (n: number) => n * 2,
    refuse: () => {
      throw new RpcError(1003, "Not here", { by: "client" });
    },
    nest: method({ params: z.object({ depth: z.number() }) }, nest),
    deadline: method({}, (_, call) => remaining(call.deadline)),
    ...extra,
  };
}
