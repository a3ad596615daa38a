import {
  type Client,
  createClient,
  createServer,
  method,
  type Server,
  silentLog,
  stream,
  WireError,
} from "callwire";
import { Connection, reconnecting } from "callwire/connection";
import type { FakeClock } from "callwire/testing";
import { z } from "zod";
// Clients load this code with their first upload, at a time that no clock here controls.
import "../../src/client/call-upload.ts";
import { ControlledWire, type Side } from "./controlled-wire.ts";
import { Ledger, streamLength, uploadLength } from "./ledger.ts";
import { idempotentKinds, type Kind, type Scenario } from "./scenario.ts";

const transport = { kind: "model", headers: {}, remoteAddress: undefined };

/** Items that a reader takes before it pauses; half of what it grants, so that each pause sends credit. */
const itemsPerRead = 32;

/** Long enough for one attempt to reconnect. */
const shortMs = 100;
/** Less than a short wait, so that a connection may close while a handler runs. */
const drainMs = 50;
/** Long enough for every timeout of calls and of shutdowns. */
const longMs = 61_000;

interface Params {
  readonly call: number;
}

interface Execution {
  readonly call: number;
  readonly answer: () => void;
}

interface Reader {
  readonly go: () => void;
  readonly leave: () => void;
}

/**
 * The real client, link, connections and server, between which the explorer decides what happens next: each action is one
 * step, after which all work that needs no other event has been done.
 */
export class World {
  readonly ledger: Ledger;
  readonly #scenario: Scenario;
  readonly #clock: FakeClock;
  readonly #client: Client;
  readonly #wires: ControlledWire[] = [];
  readonly #pairs: { readonly near: Connection; readonly far: Connection }[] = [];
  readonly #servers: Server[] = [];
  readonly #left: Record<keyof Scenario["may"], number>;
  readonly #controllers = new Map<number, AbortController>();
  readonly #readers = new Map<number, Reader>();
  readonly #closings: Promise<unknown>[] = [];
  readonly #connecting: (() => void)[] = [];
  #executions: Execution[] = [];
  #started = 0;
  #isServing = false;
  #isClosed = false;

  constructor(scenario: Scenario, clock: FakeClock) {
    this.#scenario = scenario;
    this.#clock = clock;
    this.#left = { ...scenario.may };
    this.ledger = new Ledger(scenario.calls.flat());
    this.#startServer();
    const link = reconnecting(() => this.#open(), { clock, random: () => 1, attempts: 2 });
    this.#client = createClient(link, { clock, idempotent: idempotentKinds, log: silentLog });
  }

  /** What can happen next. */
  actions(): string[] {
    const { calls } = this.#scenario;
    const actions: string[] = [];
    if (this.#started < calls.length && !this.#isClosed) actions.push("call");
    if (this.#connecting.length > 0) actions.push("connect");
    for (const [i, wire] of this.#wires.entries()) {
      if (wire.waitingFor("server").length > 0) actions.push(`server receives ${i}`);
      if (wire.waitingFor("client").length > 0) actions.push(`client receives ${i}`);
      if (this.#left.lose > 0 && !wire.isLost && !wire.isOver) actions.push(`lose ${i}`);
    }
    if (this.#left.finish > 0 && this.#isServing) {
      for (const [i, { far }] of this.#pairs.entries()) if (far.isOpen) actions.push(`finish ${i}`);
    }
    for (const { call } of this.#executions) actions.push(`answer ${call}`);
    for (const call of this.#readers.keys()) actions.push(`read ${call}`);
    if (this.#left.cancel > 0) {
      for (const call of this.#controllers.keys()) {
        if (this.ledger.isOpen(call)) actions.push(`cancel ${call}`);
      }
      for (const call of this.#readers.keys()) actions.push(`leave ${call}`);
    }
    if (this.#left.stop > 0 && this.#isServing) actions.push("stop");
    if (this.#left.crash > 0 && this.#isServing) actions.push("crash");
    if (this.#left.start > 0 && !this.#isServing) actions.push("start");
    if (this.#left.close > 0 && !this.#isClosed && this.#started > 0) actions.push("close");
    if (this.#left.wait > 0 && this.#clock.waiting > 0) actions.push("wait");
    if (this.#left.sleep > 0 && this.#clock.waiting > 0) actions.push("sleep");
    return [...new Set(actions)];
  }

  async act(action: string): Promise<void> {
    const [verb = "", ...rest] = action.split(" ");
    const number = Number(rest.at(-1));
    if (verb in this.#left) this.#left[verb as keyof Scenario["may"]]--;
    switch (verb) {
      case "call":
        this.#start();
        break;
      case "connect":
        this.#connecting.shift()?.();
        break;
      case "server":
      case "client":
        this.#wires[number]?.deliver(verb);
        break;
      case "lose":
        this.ledger.happened("lose");
        this.#wires[number]?.lose();
        break;
      case "answer":
        this.#executions.find(({ call }) => call === number)?.answer();
        break;
      case "finish":
        this.ledger.happened("finish");
        this.#closings.push(this.#pairs[number]?.far.finish({ drainMs }) ?? Promise.resolve());
        break;
      case "crash":
        this.ledger.happened("crash");
        this.#isServing = false;
        for (const wire of this.#wires) wire.lose();
        break;
      case "read":
        this.#readers.get(number)?.go();
        break;
      case "cancel":
        this.ledger.cancelled(number);
        this.#controllers.get(number)?.abort();
        break;
      case "leave":
        this.#left.cancel--;
        this.ledger.cancelled(number);
        this.#readers.get(number)?.leave();
        break;
      case "stop":
        this.ledger.happened("stop");
        this.#isServing = false;
        this.#closings.push(this.#servers.at(-1)?.close() ?? Promise.resolve());
        break;
      case "start":
        this.#startServer();
        break;
      case "close":
        this.ledger.happened("close");
        this.#isClosed = true;
        this.#closings.push(this.#client.close());
        break;
      case "wait":
        this.#clock.advance(shortMs);
        break;
      case "sleep":
        this.ledger.happened("sleep");
        this.#clock.advance(longMs);
        break;
      default:
        throw new Error(`"${action}" is not an action`);
    }
    await this.#settle();
    this.ledger.check();
    this.#checkHandlers();
  }

  /**
   * Everything that can matter later, so that each state is explored once, however it was reached.
   */
  fingerprint(): string {
    const wires = this.#wires.map((wire) => {
      const seen = (side: Side): string =>
        wire
          .waitingFor(side)
          .map((event) => ("text" in event ? this.ledger.nameOf(event.text) : "end"))
          .join();
      return [wire.isLost, wire.isOver, seen("server"), seen("client")];
    });
    return JSON.stringify([
      this.#started,
      this.#isServing,
      this.#isClosed,
      this.#left,
      this.#connecting.length,
      wires,
      this.#connections.map((each) => [each.isOpen, each.pending, each.origin.inFlight]),
      this.#executions.map(({ call }) => call),
      [...this.#readers.keys()],
      this.#clock.waiting,
      this.#client.state,
      this.ledger.summary(),
    ]);
  }

  /** From here on nothing fails: all messages arrive, all handlers finish, and then both sides shut down. */
  async end(): Promise<void> {
    if (!this.#isServing) this.#startServer();
    for (let round = 0; this.ledger.isUnsettled && round < 50; round++) {
      await this.#goOn();
      this.#clock.advance(round < 20 ? shortMs : longMs);
      await this.#settle();
    }
    this.ledger.check();
    this.ledger.mustBeSettled();
    this.#closings.push(this.#client.close(), ...this.#servers.map((server) => server.close()));
    let isOver = false;
    void Promise.all(this.#closings).then(() => {
      isOver = true;
    });
    for (let round = 0; !(isOver && this.#isQuiet()) && round < 20; round++) {
      await this.#goOn();
      this.#clock.advance(shortMs);
      await this.#settle();
    }
    this.ledger.check();
    if (!isOver) throw new Error("a shutdown did not end");
    this.#mustBeEmpty();
  }

  #start(): void {
    const group = this.#scenario.calls[this.#started++];
    const first = this.#scenario.calls.slice(0, this.#started - 1).flat().length;
    if (typeof group === "string") {
      this.#startCall(first, group as Kind);
      return;
    }
    const kinds = group as readonly Kind[];
    const results: Promise<unknown>[] = [];
    void this.#client
      .batchSettled((batch) => {
        const api = batch as Record<string, (...given: unknown[]) => Promise<unknown>>;
        for (const [i, kind] of kinds.entries()) {
          const controller = new AbortController();
          this.#controllers.set(first + i, controller);
          this.ledger.begun(first + i);
          const params = { call: first + i };
          results.push(api[kind]?.(params, { signal: controller.signal }) ?? Promise.reject());
        }
        return results;
      })
      .then((outcomes) => {
        for (const [i, outcome] of outcomes.entries()) this.ledger.settled(first + i, outcome);
      });
  }

  #startCall(call: number, kind: Kind): void {
    const controller = new AbortController();
    const { signal } = controller;
    this.#controllers.set(call, controller);
    this.ledger.begun(call);
    const options = { signal, onGap: () => this.ledger.gap(call) };
    if (kind === "watch" || kind === "follow") {
      void this.#read(call, this.#client.stream<number>(kind, { call }, options));
      return;
    }
    const result: Promise<unknown> =
      kind === "note"
        ? this.#client.notify(kind, { call }, { signal })
        : this.#client.call<unknown>(kind, { call }, { ...options, ...this.#uploadOf(call, kind) });
    result.then(
      (value) => this.ledger.settled(call, { status: "fulfilled", value }),
      (reason) => this.ledger.settled(call, { status: "rejected", reason }),
    );
  }

  #uploadOf(call: number, kind: Kind): { upload?: Iterable<number> } {
    if (kind !== "gather" && kind !== "collect") return {};
    const { ledger } = this;
    let next = 0;
    const iterator: Iterator<number> = {
      next() {
        if (next === uploadLength) {
          ledger.released(call);
          return { done: true, value: undefined };
        }
        ledger.taken(call);
        return { done: false, value: next++ };
      },
      return() {
        ledger.released(call);
        return { done: true, value: undefined };
      },
    };
    return { upload: { [Symbol.iterator]: () => iterator } };
  }

  async #read(call: number, items: AsyncIterable<number>): Promise<void> {
    let count = 0;
    let isLeft = false;
    const pause = (): Promise<void> =>
      new Promise((resolve) => {
        const go = (): void => {
          this.#readers.delete(call);
          resolve();
        };
        const leave = (): void => {
          isLeft = true;
          go();
        };
        this.#readers.set(call, { go, leave });
      });
    try {
      for await (const item of items) {
        this.ledger.item(call, item);
        if (++count % itemsPerRead === 0) await pause();
        if (isLeft) break;
      }
      this.ledger.settled(call, { status: "fulfilled", value: isLeft ? "left" : "end" });
    } catch (reason) {
      this.ledger.settled(call, { status: "rejected", reason });
    }
  }

  async #open(): Promise<Connection> {
    if (this.#scenario.slowConnect) {
      await new Promise<void>((resolve) => this.#connecting.push(resolve));
    }
    const server = this.#servers.at(-1);
    if (!this.#isServing || server === undefined)
      throw new WireError("CONNECTION_FAILED", "nothing listens");
    const wire = new ControlledWire((from, text) => this.ledger.sent(from, text));
    this.#wires.push(wire);
    const far = new Connection(wire.channel("server"), { transport, service: server });
    const near = new Connection(wire.channel("client"), { transport, log: silentLog });
    // As socket servers do: the service has drained by then.
    server.onClose(() => far.finish({ drainMs: 0 }));
    this.#pairs.push({ near, far });
    return near;
  }

  #startServer(): void {
    const { ledger } = this;
    const pause = (call: number, signal: AbortSignal): Promise<void> =>
      new Promise((resolve, reject) => {
        const end = (settle: () => void) => (): void => {
          this.#executions = this.#executions.filter((each) => each !== execution);
          settle();
        };
        const execution: Execution = { call, answer: end(resolve) };
        this.#executions.push(execution);
        const abort = end(() => reject(new Error("aborted")));
        signal.addEventListener("abort", abort, { once: true });
      });
    const run = async (params: unknown, { signal }: { readonly signal: AbortSignal }) => {
      const { call } = params as Params;
      ledger.ran(call);
      await pause(call, signal);
      return `result ${call}`;
    };
    /** Pauses after the items of each message that the explorer delivers. */
    const receive = method({ upload: z.unknown() }, async (params: unknown, context) => {
      const { call } = params as Params;
      ledger.ran(call);
      let count = 0;
      for await (const item of context.upload) {
        ledger.received(call, item);
        if (++count % itemsPerRead === 0) await pause(call, context.signal);
      }
      return "all";
    });
    const items = async function* (params: unknown): AsyncGenerator<number> {
      ledger.ran((params as Params).call);
      for (let i = 0; i < streamLength; i++) yield i;
    };
    const methods = {
      read: method({}, run),
      write: method({}, run),
      note: ({ call }: Params) => ledger.ran(call),
      watch: stream({}, items),
      follow: stream({}, items),
      gather: receive,
      collect: receive,
    };
    const options = { clock: this.#clock, log: silentLog, overload: false } as const;
    this.#servers.push(createServer(methods, options));
    this.#isServing = true;
  }

  /** Does all work that needs no other event. */
  async #settle(): Promise<void> {
    for (let i = 0; i < 2; i++) {
      await new Promise(setImmediate);
      // Timers without a delay, which some code uses to wait for a turn.
      this.#clock.advance(0);
    }
    await new Promise(setImmediate);
  }

  /** Everything in progress continues, in no special order. */
  async #goOn(): Promise<void> {
    for (const connect of this.#connecting.splice(0)) connect();
    for (const { answer } of [...this.#executions]) answer();
    for (const { go } of [...this.#readers.values()]) go();
    for (const wire of this.#wires) {
      for (const side of ["server", "client"] as const) {
        while (wire.waitingFor(side).length > 0) wire.deliver(side);
      }
    }
    await this.#settle();
  }

  get #connections(): Connection[] {
    return this.#pairs.flatMap(({ near, far }) => [near, far]);
  }

  #isQuiet(): boolean {
    return this.#wires.every((wire) => wire.isOver) && this.#clock.waiting === 0;
  }

  /** A server that has received everything runs nothing for a caller that no longer waits. */
  #checkHandlers(): void {
    if (this.#wires.some((wire) => wire.waitingFor("server").length > 0)) return;
    const left = this.#executions.find(({ call }) => !this.ledger.isOpen(call));
    if (left !== undefined) throw new Error(`call ${left.call} still runs after it settled`);
  }

  #mustBeEmpty(): void {
    const { waiting } = this.#clock;
    if (waiting > 0) throw new Error(`${waiting} timers are left after the shutdown`);
    if (this.#executions.length > 0) throw new Error("a handler still runs after the shutdown");
    for (const { running } of this.#servers) {
      if (running.size > 0) throw new Error("a server still has running calls");
    }
    for (const each of this.#connections) {
      if (each.isOpen) throw new Error("a connection is still open");
      if (each.pending > 0) throw new Error("a connection still waits for replies");
      if (each.origin.inFlight > 0) throw new Error("a connection still counts calls of its peer");
    }
  }
}
