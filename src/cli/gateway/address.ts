import { basename } from "node:path";
import type { FramingName } from "../framing-option.ts";
import { linkFromUrl, wordsOf } from "../link-from-url.ts";

/** Whether an address can be called, without calling it; throws a Failure that says why not. */
export async function checkAddress(url: string, framing?: FramingName): Promise<void> {
  const link = await linkFromUrl(url, { framing });
  await link.close();
}

/** An address for logs and metrics: without passwords and whatever else may be a secret in it. */
export function shownAddress(url: string): string {
  const program = programOf(url);
  if (program !== undefined) return `stdio:${program}`;
  if (url.startsWith("unix:")) return url;
  // Of several hosts, which make it no URL.
  if (url.startsWith("nats:"))
    return url.replace(/^nats:\/\/(?:[^/?#]*@)?([^?#]*).*$/, "nats://$1");
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/** What a program behind a gateway is called where it has no name of its own. */
export function nameOf(url: string): string {
  const program = programOf(url);
  return program === undefined ? "behind" : basename(program);
}

/** The addresses of one upstream, each with a name that no other has. */
export function namedAddresses(urls: readonly string[]): [name: string, url: string][] {
  const counts = new Map<string, number>();
  return urls.map((url) => {
    const shown = shownAddress(url);
    const count = (counts.get(shown) ?? 0) + 1;
    counts.set(shown, count);
    return [count === 1 ? shown : `${shown} (${count})`, url];
  });
}

function programOf(url: string): string | undefined {
  return url.startsWith("stdio:") ? wordsOf(url.slice("stdio:".length))[0] : undefined;
}
