// The methods that the portable contract calls, on whatever runtime serves them.
import { createServer, method, RpcError, silentLog, stream } from "callwire";
import { z } from "zod";

const keyed = z.object({ key: z.string() });

export function portableServer() {
  return createServer(portableMethods(), { log: silentLog });
}

function portableMethods() {
  const journal = new Journal();
  return {
    echo: (/** @type {unknown} */ value) => value,
    math: {
      add: method({ params: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => a + b),
      count: stream({ params: z.object({ to: z.number() }) }, async function* ({ to }) {
        for (let i = 0; i <= to; i++) yield i;
      }),
    },
    copy: method({ params: z.object({ file: z.instanceof(Blob) }) }, async ({ file }) => {
      return new Blob([await file.arrayBuffer()], { type: file.type });
    }),
    refuse: method({}, () => {
      throw new RpcError(1001, "Refused", { reason: "because" });
    }),
    crash: method({}, async () => {
      throw new Error("a secret");
    }),
    whoIsThere: method({}, (_, call) => call.peer.call("name")),
    work: method({}, async (_, call) => {
      call.progress(1);
      await Promise.resolve();
      call.progress(2);
      return "done";
    }),
    endless: stream({ params: keyed }, async function* ({ key }) {
      try {
        for (let i = 0; ; i++) yield i;
      } finally {
        journal.note(`stopped ${key}`);
      }
    }),
    hang: method({ params: keyed }, ({ key }, { signal }) => {
      journal.note(`hanging ${key}`);
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          journal.note(`stopped ${key}`);
          resolve("too late");
        });
      });
    }),
    hanging: (/** @type {string} */ key) => journal.seen(`hanging ${key}`),
    stopped: (/** @type {string} */ key) => journal.seen(`stopped ${key}`),
  };
}

/** Events that have happened, for tests that wait for them instead of sleeping. */
class Journal {
  /** @type {Set<string>} */
  #noted = new Set();
  /** @type {Map<string, () => void>} */
  #waiting = new Map();

  /** @param {string} event */
  note(event) {
    this.#noted.add(event);
    this.#waiting.get(event)?.();
  }

  /**
   * @param {string} event
   * @returns {Promise<boolean>}
   */
  async seen(event) {
    if (this.#noted.has(event)) return true;
    return new Promise((resolve) => this.#waiting.set(event, () => resolve(true)));
  }
}
