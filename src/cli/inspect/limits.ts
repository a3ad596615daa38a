import { Failure } from "../failure.ts";
import { type Prober, unknownMethod } from "./prober.ts";

/** Where a limit lies: so much was taken, and so much refused; null where nothing was refused. */
export interface Bound {
  readonly taken: number;
  readonly refused: number | null;
}

export interface Bounds {
  readonly batch: Bound | null;
  readonly messageBytes: Bound;
  readonly depth: Bound;
}

/** A message whose text is not what JSON.stringify would write. */
interface Message {
  readonly text: string;
  readonly id: unknown;
}

const KiB = 1024;

/** Looks for limits, with messages that grow up to some size and no further. */
export async function findBounds(
  prober: Prober,
  batches: boolean,
  tell: (what: string) => void,
): Promise<Bounds> {
  const takes = async ({ text, id }: Message, what: string): Promise<boolean> => {
    tell(what);
    const taken = prober.understood(await prober.send(text, { id }));
    if (!taken) await mustBeThere(prober, what);
    return taken;
  };
  const batch = batches
    ? await boundOf([1, 10, 100, 1000], 0, async (size) => {
        tell(`a batch of ${size}`);
        const entries = Array.from({ length: size }, () => prober.request());
        const { payload } = await prober.send(entries);
        const taken = Array.isArray(payload) && payload.length === size;
        if (!taken) await mustBeThere(prober, `a batch of ${size}`);
        return taken;
      })
    : null;
  const depth = await boundOf([16, 64, 256, 1024, 4096], 0, (levels) =>
    takes(deep(prober, levels), `${levels} levels`),
  );
  const sizes = [64 * KiB, 256 * KiB, 1024 * KiB, 4096 * KiB];
  const messageBytes = await boundOf(sizes, 1 / 16, (bytes) =>
    takes(long(prober, bytes), `${bytes} bytes`),
  );
  return { batch, messageBytes, depth };
}

/**
 * A limit that ends the connection is a limit; one that ends the server is news. This call may
 * also find the end of a connection that the refusal brought, so that the next probe does not.
 */
async function mustBeThere(prober: Prober, what: string): Promise<void> {
  const { failed } = await prober.send(prober.request());
  if (failed?.code === "CONNECTION_FAILED") {
    throw new Failure(`the server is gone after ${what}`, { exitCode: 3 });
  }
}

/**
 * The limit between the steps. Limits are mostly round numbers, so the next one above a step is
 * tried first; from there on halves, until the rest is a small part of it.
 */
async function boundOf(
  steps: readonly number[],
  precision: number,
  takes: (size: number) => Promise<boolean>,
): Promise<Bound> {
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

/** A message of so many levels; it is one itself. */
function deep(prober: Prober, levels: number): Message {
  const { id } = prober.request();
  const params = "[".repeat(levels - 1) + "]".repeat(levels - 1);
  const text = `{"jsonrpc":"2.0","method":"${unknownMethod}","params":${params},"id":${id}}`;
  return { text, id };
}

/** A message of exactly so many bytes. */
function long(prober: Prober, bytes: number): Message {
  const { id } = prober.request();
  const [head, tail] = [
    `{"jsonrpc":"2.0","method":"${unknownMethod}","params":["`,
    `"],"id":${id}}`,
  ];
  return { text: head + "x".repeat(bytes - head.length - tail.length) + tail, id };
}
