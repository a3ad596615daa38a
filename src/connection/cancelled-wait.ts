import type { WireError } from "../protocol/errors.ts";
import type { Outgoing } from "../protocol/link.ts";

/** Waits for a promise, unless the caller cancels. */
export function unlessCancelled<T>(
  needed: Promise<T>,
  outgoing: Outgoing,
  left?: () => void,
): Promise<T> {
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
