import type { CredentialSource } from "../protocol/credentials.ts";
import type { Exchange } from "../protocol/exchange.ts";

/** Sends a payload once more with renewed credentials if the server refused the first ones; a refused call did not run. */
export function renewing(exchange: Exchange, credentials: CredentialSource | undefined): Exchange {
  if (!credentials) return exchange;
  return (text, payload) => {
    const first = exchange(text, payload);
    const next = () =>
      payload.refused && !payload.outgoing[0]?.upload?.begun ? exchange(text, payload) : first;
    return first.then(next, next);
  };
}
