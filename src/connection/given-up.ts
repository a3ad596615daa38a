import type { WireError } from "../protocol/errors.ts";
import type { Outgoing } from "../protocol/link.ts";

/** Waits for what the call needs, unless its caller gives up. */
export function giveUpOr<T>(needed: Promise<T>, outgoing: Outgoing, left?: () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = (error: WireError): void => {
      left?.();
      reject(error);
    };
    outgoing.cancel = cancel;
    const settled = (): void => {
      if (outgoing.cancel === cancel) outgoing.cancel = undefined;
    };
    needed.then(
      (value) => {
        settled();
        resolve(value);
      },
      (error: unknown) => {
        settled();
        reject(error);
      },
    );
  });
}
