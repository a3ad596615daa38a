import type { JsMsg } from "./client-library.ts";

/** Runs something that may take long, and tells the engine meanwhile that this worker still has the message. */
export async function working<T>(
  message: JsMsg,
  ackWaitMs: number,
  run: () => Promise<T>,
): Promise<T> {
  const signs = setInterval(() => message.working(), ackWaitMs / 2);
  try {
    return await run();
  } finally {
    clearInterval(signs);
  }
}
