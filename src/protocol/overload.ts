import { type Clock, systemClock } from "./clock.ts";
import { limitOf } from "./limits.ts";
import type { ErrorObject, Request } from "./message.ts";
import type { Origin } from "./origin.ts";
import { outOfTime, serverBusy } from "./standard-errors.ts";

export interface OverloadOptions {
  /**
   * How late the event loop may be, turn after turn for ten times as long, before calls are refused. Stops queues in
   * which each call waits until its caller has given up. @default 100
   */
  readonly maxDelayMs?: number;
}

/** Calls from one reading of the clock to the next. */
const stride = 8;
/** Fewer concurrent calls are not a queue, however slow the process is. */
const crowd = 32;
/** If calls of this many peers are read in one turn, it is not just one client that sends many calls at once. */
const severalPeers = 8;
/** At least this many calls may run in a slice, however long they take. */
const fewest = 4;
/** The longest time that one call counts for between two looks at the clock; calls that await something run after the second look. */
const msPerCall = 2;
const unlimited = Number.POSITIVE_INFINITY;

/** Node's, which other platforms may not have. */
interface OwnProcess {
  cpuUsage?(): { readonly user: number; readonly system: number };
}

/** CPU time of this process; where it is unknown, all time counts as used. */
function cpuMs(): number {
  try {
    const usage = (Reflect.get(globalThis, "process") as OwnProcess | undefined)?.cpuUsage?.();
    if (usage !== undefined) return (usage.user + usage.system) / 1_000;
  } catch {
    // Workers have the function, but it throws.
  }
  return systemClock.elapsed();
}

/**
 * Notices when calls arrive faster than this process can run them. They wait in the buffers of the system then, first
 * come, first served, so that each is answered when its caller has given up. If some are refused at once, the others
 * are answered in time.
 *
 * While calls arrive, a timer divides the time into slices. It is late where the event loop is, and a message may have
 * waited as long. One late slice means nothing: it may be due to a long handler or to a collection of garbage. Calls are
 * refused if slices are late one after the other, for long. Delays are measured in CPU time of this process: while other
 * processes have the CPU, calls wait too, but refusing them would not help. They are also refused if more callers give up
 * than are answered, whatever the reason.
 */
export class Overload {
  readonly #clock: Clock;
  readonly #cpu: () => number;
  readonly #maxDelayMs: number;
  readonly #sliceMs: number;
  /** While calls are refused, slices are short: Node accepts one connection in each turn of the event loop. */
  readonly #shortMs: number;
  /** For how long slices have to be late, or not to be, before anything changes. */
  readonly #patienceMs: number;
  /** The most that counts of the time between two looks at the clock if few calls ran: the process may have been held up. */
  readonly #stepMs: number;
  #isTicking = false;
  #startedAt = 0;
  #seenAt = 0;
  /** Calls of this slice that ran, and those that found no room. */
  #taken = 0;
  #refused = 0;
  /** The peer of the last call, and how many times that changed in this slice. */
  #peer: object | undefined = undefined;
  #peerChanges = 0;
  /** How long calls wait in the queue of their wire, if that is a long one, and how much CPU time that took. */
  #queuedMs = 0;
  #queuedCpuMs = 0;
  /** The most calls of this slice that may run. */
  #room = unlimited;
  /** For how long slices have been late without a break, with this one, and how many there were before it. */
  #lateMs = 0;
  #lateSlices = 0;
  /** CPU time that the process had used before those slices, and before this one. */
  #cpuBefore = 0;
  #cpuAtStart = 0;
  /** Since when callers that give up are counted, how many did, and how many calls ran. */
  #countedSince = 0;
  #gaveUp = 0;
  #ran = 0;
  /** When there was last more to do than time for it. */
  #busyAt = 0;
  /** How long messages that are read now have waited, as far as is known. */
  waitedMs = 0;
  /** How many calls wait in a queue of their wire. */
  queued = 0;

  /** `cpu` is the CPU time that the process has used, in milliseconds; tests pass their own. */
  constructor(clock: Clock, { maxDelayMs }: OverloadOptions = {}, cpu?: () => number) {
    this.#clock = clock;
    this.#cpu = cpu ?? (clock === systemClock ? cpuMs : () => clock.elapsed());
    this.#maxDelayMs = limitOf("maxDelayMs", maxDelayMs, 100);
    this.#sliceMs = this.#maxDelayMs / 5;
    this.#shortMs = this.#maxDelayMs / 20;
    this.#patienceMs = this.#maxDelayMs * 10;
    this.#stepMs = this.#maxDelayMs * 2.5;
  }

  /**
   * Counts a call, and says why it does not run; undefined if it does, and for notifications (`silent`), whose senders
   * could not be told.
   */
  refusal(request: Request, silent: boolean, origin: Origin): ErrorObject | undefined {
    const { transport } = origin;
    const { kind } = transport;
    // These calls arrive in the turn in which they are made, so none has waited.
    if (kind === "direct" || kind === "memory") return undefined;
    const hasRoom = this.take(origin);
    if (silent || (hasRoom && this.waitedMs === 0)) return undefined;
    if (!hasRoom) return serverBusy;
    const timeoutMs = request.timeoutMs ?? transport.timeoutMs;
    return typeof timeoutMs === "number" && timeoutMs < this.waitedMs ? outOfTime : undefined;
  }

  /** Counts a call of a peer; false if the limit is reached. */
  take(peer?: object): boolean {
    const isTooLate = this.#room !== unlimited && this.#queuedMs > this.#maxDelayMs;
    if (isTooLate || this.#taken >= this.#room) {
      this.#refused++;
      return false;
    }
    if (this.#isTicking && peer !== this.#peer) {
      this.#peer = peer;
      this.#peerChanges++;
    }
    if (++this.#taken % stride === 0) this.#look();
    return true;
  }

  /** Counts a call only if there is no room for it, for wires that can refuse it before it is read. */
  refuses(): boolean {
    if (this.#taken + this.queued < this.#room) return false;
    this.#refused++;
    return true;
  }

  /** How long the next call has waited in the queue of its wire, and `cpuMs()` when it arrived; 0 if the queue is empty. */
  waited(ms: number, arrival: number): void {
    const isCrowd = this.queued >= crowd;
    this.#queuedMs = isCrowd ? ms : 0;
    this.#queuedCpuMs = isCrowd && ms > this.#maxDelayMs ? this.#cpu() - arrival : 0;
    this.waitedMs = ms;
  }

  /** The CPU time that this process has used. A wire with a queue keeps it with each call that has to wait there. */
  cpuMs(): number {
    return this.#cpu();
  }

  /** A caller disconnected before its call could run. */
  callerLeft(): void {
    if (this.#gaveUp++ > 0) return;
    this.#countedSince = this.#clock.elapsed();
    this.#ran = 0;
  }

  #look(): void {
    const now = this.#clock.elapsed();
    if (!this.#isTicking) {
      this.#isTicking = true;
      this.#begin(now);
      return;
    }
    this.#see(now);
    // While the calls of one connection run, more arrive on the others, so that one turn may never end.
    const isEnough = this.#lateSlices > 0 || this.#peerChanges >= severalPeers;
    if (isEnough && this.#isLate() && this.#isOutOfPatience) this.#room = 0;
  }

  #see(now: number): void {
    const mostMs = Math.max(this.#stepMs, this.#taken * msPerCall);
    this.#lateMs += Math.min(now - this.#seenAt, mostMs);
    this.#seenAt = now;
    this.waitedMs = Math.max(this.#queuedMs, now - this.#startedAt - this.#sliceMs, 0);
  }

  #begin(now: number): void {
    this.#startedAt = now;
    this.#cpuAtStart = this.#cpu();
    if (this.#lateSlices === 0) this.#cpuBefore = this.#cpuAtStart;
    this.#seenAt = now;
    this.#taken = 0;
    this.#refused = 0;
    this.#peer = undefined;
    this.#peerChanges = 0;
    this.waitedMs = 0;
    const lengthMs = this.#room === unlimited ? this.#sliceMs : this.#shortMs;
    this.#clock.after(lengthMs, () => this.#end());
  }

  #end(): void {
    const now = this.#clock.elapsed();
    this.#see(now);
    this.#ran += this.#taken;
    if (this.#room === unlimited) this.#judge(now);
    else this.#adjust(now);
    if (this.#taken + this.#refused > 0 || this.#room !== unlimited) this.#begin(now);
    else {
      this.#isTicking = false;
      this.#peer = undefined;
      this.waitedMs = 0;
    }
  }

  /** Whether the slice was late, and so the next one may be the first in which calls are refused. */
  #judge(now: number): void {
    if (this.#areCallersLeaving(now)) this.#limit(now, 0);
    else if (!this.#isLate()) {
      this.#lateMs = 0;
      this.#lateSlices = 0;
    } else if (++this.#lateSlices > 1 && this.#isOutOfPatience) this.#limit(now, 0);
  }

  /** Whether a crowd of callers gave up in the last interval, and fewer calls ran. */
  #areCallersLeaving(now: number): boolean {
    if (this.#gaveUp === 0 || now - this.#countedSince < this.#patienceMs) return false;
    const left = this.#gaveUp;
    this.#gaveUp = 0;
    return left >= crowd && left > this.#ran;
  }

  /** A burst of calls takes long if the process gets little of the CPU, so they must have used it for half of that time. */
  get #isOutOfPatience(): boolean {
    if (this.#lateMs < this.#patienceMs) return false;
    return this.#cpu() - this.#cpuBefore >= this.#patienceMs / 2;
  }

  #isLate(): boolean {
    if (this.#queuedCpuMs > this.#maxDelayMs) return true;
    if (this.#taken < crowd || this.waitedMs <= this.#maxDelayMs) return false;
    return this.#cpu() - this.#cpuAtStart - this.#sliceMs > this.#maxDelayMs;
  }

  /** Leaves room for as many calls as there was time for, and for more from slice to slice while that is enough. */
  #adjust(now: number): void {
    const isLong = Math.max(now - this.#startedAt, this.#queuedMs) > 2 * this.#shortMs;
    if (isLong) this.#limit(now, this.#room * 0.8);
    else if (this.#refused > 0) {
      this.#busyAt = now;
      this.#room = Math.ceil(this.#room * 1.25);
    } else if (now - this.#busyAt >= this.#patienceMs) {
      this.#room = unlimited;
      this.#lateMs = 0;
      this.#lateSlices = 0;
    }
  }

  /** By what the calls of the last slice took, but not by one slice alone if it is known from before. */
  #limit(now: number, leastRoom: number): void {
    const fitting = (this.#taken * 1.5 * this.#shortMs) / (now - this.#startedAt);
    this.#busyAt = now;
    this.#room = Math.max(fewest, Math.floor(Math.max(fitting, leastRoom)));
  }
}
