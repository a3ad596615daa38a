import { WireError } from "../../protocol/errors.ts";
import { absoluteAddress, wrongAddress } from "../../protocol/url.ts";

/** A `ws:` or `wss:` URL; accepts `http:` and `https:`, and relative ones if there is a page or a base. */
export function webSocketUrl(address: string | URL, base?: string | URL): URL {
  const whole = absoluteAddress(address, base).replace(/^http/i, "ws");
  if (/^wss?:/i.test(whole) && URL.canParse(whole)) return new URL(whole);
  throw wrongAddress("ws(s)://host/path", address);
}

/** Leaves out query and user of the URL, which may hold a secret. */
export function connectionFailed(
  url: URL,
  sentence: string,
  options: { cause?: unknown; status?: number } = {},
): WireError {
  return new WireError(
    "CONNECTION_FAILED",
    `${url.protocol}//${url.host}${url.pathname} ${sentence}`,
    options,
  );
}
