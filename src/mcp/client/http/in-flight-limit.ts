import { WireError } from "../../../protocol/errors.ts";
import type { Payload } from "../../../protocol/exchange.ts";

/** How many calls may be on their way, where a link is told or is not. */
export function inFlightOf({ maxInFlight = 256 }: { readonly maxInFlight?: number | undefined }) {
  if (Number.isInteger(maxInFlight) && maxInFlight > 0) return maxInFlight;
  throw new TypeError(`maxInFlight is an integer of at least 1, not ${maxInFlight}`);
}

/** Lets only so many calls be on their way at a time; the others wait, in their order. */
export class InFlightLimit {
  readonly #most: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether one would be had without waiting. */
  get isFree(): boolean {
    return this.#running < this.#most;
  }

  /** Sends the payload when its turn comes; one that is given up before is never sent. */
  async run<T>(payload: Payload, send: () => Promise<T>): Promise<T> {
    if (this.isFree) this.#running++;
    else await this.#turn(payload);
    try {
      if (payload.cancelled) throw givenUp();
      return await send();
    } finally {
      this.#pass();
    }
  }

  #turn(payload: Payload): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(resolve);
      const cancel = (): void => {
        this.#waiting.delete(resolve);
        reject(givenUp());
      };
      payload.onCancel = cancel;
    });
  }

  /** Whoever waits longest takes the place over. */
  #pass(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#running--;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}

/** The caller has heard why. */
function givenUp(): WireError {
  return new WireError("ABORTED", "the call was given up before it was sent");
}
