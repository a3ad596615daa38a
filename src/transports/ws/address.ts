import { WireError } from "../../protocol/errors.ts";
import { absoluteAddress, wrongAddress } from "../../protocol/url.ts";

/** A `ws:` or `wss:` URL; accepts `http:` and `https:`, and relative ones if there is a page or a base. */
export function webSocketUrl(address: string | URL, base?: string | URL): URL {
  const whole = absoluteAddress(address, base);
  const url = URL.canParse(whole) ? new URL(whole) : undefined;
  if (url?.protocol === "http:") url.protocol = "ws:";
  else if (url?.protocol === "https:") url.protocol = "wss:";
  if (url === undefined || !/^wss?:$/.test(url.protocol)) {
    throw wrongAddress("ws://host/path or wss://host/path", address);
  }
  return url;
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
