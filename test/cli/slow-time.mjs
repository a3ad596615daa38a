// Loaded before a command whose own limits a test must not reach: each of a second or more is thirty times as long.
import { Socket } from "node:net";

/** @param {number | undefined} ms */
const longer = (ms = 0) => (ms >= 1_000 ? ms * 30 : ms);

const { setTimeout: after } = globalThis;
/** @type {(run: (...args: unknown[]) => void, ms?: number, ...rest: unknown[]) => NodeJS.Timeout} */
const laterAfter = (run, ms, ...rest) => after(run, longer(ms), ...rest);
globalThis.setTimeout = Object.defineProperties(
  /** @type {typeof after} */ (laterAfter),
  Object.getOwnPropertyDescriptors(after),
);

const timeout = AbortSignal.timeout.bind(AbortSignal);
AbortSignal.timeout = (ms) => timeout(longer(ms));

const { setTimeout: idle } = Socket.prototype;
Socket.prototype.setTimeout = function (ms, callback) {
  return idle.call(this, longer(ms), callback);
};
