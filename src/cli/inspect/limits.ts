import { Failure } from "../failure.ts";
import { type Prober, unknownMethod } from "./prober.ts";

/** The largest accepted and the smallest refused size; null if none was refused. */
export interface LimitRange {
  readonly taken: number;
  readonly refused: number | null;
}

export interface Limits {
  readonly batch: LimitRange | null;
  readonly messageBytes: LimitRange;
  readonly depth: LimitRange;
}

/** A message that was not written by JSON.stringify. */
interface Message {
  readonly text: string;
  readonly id: unknown;
}

const KiB = 1024;

/** Probes the limits with growing messages, up to a maximum. */
export async function findLimits(
  prober: Prober,
  batches: boolean,
  onStep: (what: string) => void,
): Promise<Limits> {
  const takes = async ({ text, id }: Message, what: string): Promise<boolean> => {
    onStep(what);
    const taken = prober.understood(await prober.send(text, { id }));
    if (!taken) await checkAlive(prober, what);
    return taken;
  };
  const batch = batches
    ? await limitBetween([1, 10, 100, 1000], 0, async (size) => {
        onStep(`a batch of ${size}`);
        const entries = Array.from({ length: size }, () => prober.request());
        const { payload } = await prober.send(entries);
        const taken = Array.isArray(payload) && payload.length === size;
        if (!taken) await checkAlive(prober, `a batch of ${size}`);
        return taken;
      })
    : null;
  const depth = await limitBetween([16, 64, 256, 1024, 4096], 0, (levels) =>
    takes(deep(prober, levels), `${levels} levels`),
  );
  const sizes = [64 * KiB, 256 * KiB, 1024 * KiB, 4096 * KiB];
  const messageBytes = await limitBetween(sizes, 1 / 16, (bytes) =>
    takes(long(prober, bytes), `${bytes} bytes`),
  );
  return { batch, messageBytes, depth };
}

/**
 * Fails if the server has stopped. Also consumes the end of a connection that the refusal closed, so
 * that the next probe does not see it.
 */
async function checkAlive(prober: Prober, what: string): Promise<void> {
  const { failed } = await prober.send(prober.request());
  if (failed?.code === "CONNECTION_FAILED") {
    throw new Failure(`the server stopped accepting connections after ${what}`, { exitCode: 3 });
  }
}

/**
 * Finds the limit between two steps: first directly above a step, because limits are mostly round
 * numbers, then by bisection down to the precision.
 */
async function limitBetween(
  steps: readonly number[],
  precision: number,
  takes: (size: number) => Promise<boolean>,
): Promise<LimitRange> {
  let taken = 0;
  let refused: number | null = null;
  for (const step of steps) {
    if (await takes(step)) taken = step;
    else {
      refused = step;
      break;
    }
  }
  if (refused === null) return { taken, refused };
  if (taken > 0 && refused > taken + 1) {
    if (await takes(taken + 1)) taken++;
    else refused = taken + 1;
  }
  while (refused - taken > Math.max(1, taken * precision)) {
    const middle = Math.floor((taken + refused) / 2);
    if (await takes(middle)) taken = middle;
    else refused = middle;
  }
  return { taken, refused };
}

/** A message with this nesting depth, including the message itself. */
function deep(prober: Prober, levels: number): Message {
  const { id } = prober.request();
  const params = "[".repeat(levels - 1) + "]".repeat(levels - 1);
  const text = `{"jsonrpc":"2.0","method":"${unknownMethod}","params":${params},"id":${id}}`;
  return { text, id };
}

function long(prober: Prober, bytes: number): Message {
  const { id } = prober.request();
  const [head, tail] = [
    `{"jsonrpc":"2.0","method":"${unknownMethod}","params":["`,
    `"],"id":${id}}`,
  ];
  return { text: head + "x".repeat(bytes - head.length - tail.length) + tail, id };
}
