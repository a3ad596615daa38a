import { signal } from "@preact/signals";
import type { TransportName } from "./settings.ts";
import { recordClosed } from "./wire.ts";

/** Which credentials the server accepts, as it said when it last refused a request without them. */
export const challenge = signal<string | undefined>(undefined);

/** `fetch` that also records what no message shows: required credentials and closed requests. */
export function watchedFetch(
  transport: TransportName,
): (url: string, init: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const { signal, body } = init;
    const close = (): void => recordClosed(transport, String(body));
    if (typeof body === "string") signal?.addEventListener("abort", close);
    try {
      const response = await fetch(url, init);
      const asked = response.status === 401 ? response.headers.get("www-authenticate") : null;
      challenge.value = asked ?? undefined;
      return response;
    } catch (error) {
      // The request failed by itself, so the page need not close it.
      signal?.removeEventListener("abort", close);
      throw error;
    }
  };
}
