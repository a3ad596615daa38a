import { existsSync } from "node:fs";
import { type Client, createClient, ErrorCode, type Link, WireError } from "callwire";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { isFull } from "../full.ts";
import { requireService } from "../services.ts";
import { type NatsServer, startNats } from "../transports/nats/nats-server.ts";
import type { Line } from "./line.ts";
import { type Fault, faults, impossible, isQuick, type WireName, wires } from "./matrix.ts";
import { PeerProcess } from "./peer-process.ts";
import { type FaultyWire, faultyWires } from "./wires.ts";

/** Long enough for a call that can succeed; short enough to wait for one that cannot. */
const shortMs = 500;
const forever = 2 ** 31;
const dayMs = 86_400_000;

const hasNats = "path" in requireService("nats-server");
let nats: NatsServer | undefined;
let shared: PeerProcess;
let keys = 0;

beforeAll(async () => {
  nats = hasNats && isFull ? await startNats() : undefined;
  shared = await PeerProcess.start(nats?.port);
});

afterAll(async () => {
  await shared?.stop();
  await nats?.stop();
});

/** One wire, with its line, a client on it and another client that is not disturbed. */
class Cell {
  readonly peer: PeerProcess;
  readonly line: Line;
  readonly client: Client;
  readonly other: Client;
  readonly key = `k${++keys}`;

  private constructor(peer: PeerProcess, line: Line, link: Link, other: Link) {
    this.peer = peer;
    this.line = line;
    this.client = createClient(link);
    this.other = createClient(other);
    onTestFinished(async () => {
      await Promise.all([this.client.close(), this.other.close()]);
    });
  }

  static async open(wire: FaultyWire, peer = shared): Promise<Cell> {
    const [line, plain] = [await wire.line(peer, nats?.port), await wire.line(peer, nats?.port)];
    const cell = new Cell(peer, line, await wire.link(line, peer), await wire.link(plain, peer));
    expect(await cell.echo()).toBe("hi");
    return cell;
  }

  echo(timeoutMs?: number): Promise<unknown> {
    const options = timeoutMs === undefined ? {} : { timeoutMs };
    return this.client.call<unknown>("echo", ["hi"], options);
  }

  /** A call that runs until its caller is gone, or for so long. */
  hold(ms = forever, timeoutMs?: number, key = this.key): Promise<unknown> {
    const options = timeoutMs === undefined ? {} : { timeoutMs };
    return this.client.call<unknown>("hold", { key, ms }, options);
  }

  /**
   * The failure is reported truthfully, the server serves others, and nothing is left running; then
   * the line works again.
   */
  async survives(failure: unknown): Promise<void> {
    expect(failure).toBeInstanceOf(Error);
    expect(await this.other.call("echo", ["other"])).toBe("other");
    await this.peer.idle();
    const runs = this.peer.runs(this.key);
    expect(runs).toBeLessThanOrEqual(1);
    if (didNotRun(failure)) expect(runs).toBe(0);
    await this.recovers();
  }

  /** A connection that was disturbed may be lost on its next use, which must not last. */
  async recovers(): Promise<void> {
    await expect.poll(() => this.echo(shortMs).catch((error: Error) => error.message)).toBe("hi");
  }
}

function ranIn(failure: unknown): unknown {
  return (failure as { readonly data?: { readonly ran?: unknown } }).data?.ran;
}

function didNotRun(failure: unknown): boolean {
  return failure instanceof WireError
    ? failure.code === "CONNECTION_FAILED"
    : ranIn(failure) === false;
}

function mayHaveRun(failure: unknown): boolean {
  return failure instanceof WireError
    ? failure.code === "CONNECTION_LOST"
    : ranIn(failure) === "unknown";
}

/** Either side may notice the timeout first. */
function timedOut(failure: unknown): boolean {
  const { code } = failure as { readonly code?: unknown };
  return mayHaveRun(failure) || code === "TIMEOUT" || code === ErrorCode.RequestTimeout;
}

const caught = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    (value) => value,
    (error: unknown) => error,
  );

const cells: Readonly<Record<Fault, (wire: FaultyWire) => Promise<void>>> = {
  async refused(wire) {
    const client = createClient(await wire.nowhere(nats?.port));
    onTestFinished(() => client.close());
    const failure = await caught(client.call("hold", { key: "nowhere", ms: forever }));
    expect(failure).toSatisfy(didNotRun);
    expect(shared.runs("nowhere")).toBe(0);
  },

  async reset(wire) {
    const cell = await Cell.open(wire);
    const failure = caught(cell.hold());
    await cell.peer.started(cell.key);
    cell.line.cut();
    expect(await failure).toSatisfy(mayHaveRun);
    await cell.survives(await failure);
  },

  async "half-open"(wire) {
    const cell = await Cell.open(wire);
    cell.line.mode = "silent";
    const failure = await caught(cell.hold(forever, shortMs));
    expect(failure).toSatisfy(timedOut);
    cell.line.mode = "plain";
    cell.line.cut();
    await cell.survives(failure);
  },

  async slow(wire) {
    const cell = await Cell.open(wire);
    cell.line.mode = "slow";
    const long = "x".repeat(20_000);
    expect(await cell.client.call("echo", [long])).toBe(long);
    expect(await cell.other.call("echo", ["other"])).toBe("other");
  },

  async reordered(wire) {
    const cell = await Cell.open(wire);
    const names = Array.from({ length: 10 }, (_, i) => `${cell.key}.${i}`);
    // The later a call was made, the sooner it is answered.
    const replies = names.map((name, i) => cell.hold(100 - 10 * i, undefined, name));
    expect(await Promise.all(replies)).toEqual(names.map((name) => `held ${name}`));
  },

  async duplicated(wire) {
    const cell = await Cell.open(wire);
    cell.line.mode = "twice";
    for (let i = 0; i < 5; i++) {
      expect(await cell.hold(0, undefined, `${cell.key}.${i}`)).toBe(`held ${cell.key}.${i}`);
      expect(cell.peer.runs(`${cell.key}.${i}`)).toBe(1);
    }
    cell.line.mode = "plain";
    await cell.recovers();
  },

  async truncated(wire) {
    const cell = await Cell.open(wire);
    const failure = caught(cell.hold(50));
    await cell.peer.started(cell.key);
    cell.line.mode = "truncate";
    await cell.survives(await failure);
  },

  async garbage(wire) {
    const cell = await Cell.open(wire);
    const outcome = caught(cell.hold(50, 4 * shortMs));
    await cell.peer.started(cell.key);
    cell.line.mode = "garbage";
    // On a wire whose messages are lines, reading continues with the next line.
    const result = await outcome;
    if (result instanceof Error) await cell.survives(result);
    else expect(result).toBe(`held ${cell.key}`);
    await cell.recovers();
  },

  async "frozen peer"(wire) {
    const peer = await ownPeer();
    const cell = await Cell.open(wire, peer);
    peer.signal("SIGSTOP");
    const failure = await caught(cell.hold(forever, shortMs));
    expect(failure).toSatisfy(timedOut);
    peer.signal("SIGCONT");
    await cell.survives(failure);
  },

  async "killed peer"(wire) {
    const peer = await ownPeer();
    const cell = await Cell.open(wire, peer);
    const failure = caught(cell.hold(forever));
    await peer.started(cell.key);
    peer.signal("SIGKILL");
    expect(await failure).toSatisfy(mayHaveRun);
    expect(peer.runs(cell.key)).toBe(1);
  },

  async "clock step"(wire) {
    const peer = await ownPeer();
    const cell = await Cell.open(wire, peer);
    const { now } = Date;
    onTestFinished(() => {
      Date.now = now;
    });
    for (const offsetMs of [dayMs, -dayMs]) {
      const key = `${cell.key}.${offsetMs}`;
      const held = cell.hold(100, 30_000, key);
      await peer.started(key);
      Date.now = () => now() + offsetMs;
      await cell.client.call("setClock", { offsetMs });
      expect(await held).toBe(`held ${key}`);
      expect(await cell.echo(30_000)).toBe("hi");
    }
  },

  async "full disk"(wire) {
    const peer = await ownPeer(true);
    const cell = await Cell.open(wire, peer);
    for (let i = 0; i < 5; i++) {
      expect(await caught(cell.client.call("fail"))).toMatchObject({ code: -32603 });
    }
    expect(await cell.echo()).toBe("hi");
  },
};

async function ownPeer(diskIsFull = false): Promise<PeerProcess> {
  const peer = await PeerProcess.start(nats?.port, diskIsFull);
  onTestFinished(() => peer.stop());
  return peer;
}

function isRun(fault: Fault, wire: WireName): boolean {
  if (impossible(fault, wire) !== undefined || (wire === "NATS" && !hasNats)) return false;
  if (fault === "full disk" && !existsSync("/dev/full")) return false;
  return isFull || isQuick(fault, wire);
}

for (const fault of faults) {
  const tried = wires.filter((wire) => isRun(fault, wire));
  if (tried.length === 0) continue;
  describe(fault, () => {
    test.each(tried)("%s", (wire) => cells[fault](faultyWires[wire]));
  });
}
