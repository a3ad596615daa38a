import type { IncomingMessage } from "node:http";
import { hostname, type NetworkInterfaceInfo, networkInterfaces } from "node:os";
import { Failure } from "./failure.ts";

export function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/** How an address stands in a URL; one that means all of them is shown as the nearest. */
export function shown(host: string): string {
  if (isWildcard(host)) return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}

/** The addresses by which other machines reach a server that listens at this one. */
export function reachableAt(host: string): string[] {
  if (/^(localhost|127\..*|::1)$/.test(host)) return [];
  if (!isWildcard(host)) return [shown(host)];
  const families = host === "::" ? ["IPv4", "IPv6"] : ["IPv4"];
  return (
    interfaces()
      .filter(({ internal, family }) => !internal && families.includes(family))
      // Those of one cable only need a name of that cable as well.
      .filter(({ address }) => !/^fe80:/i.test(address))
      .map(({ address }) => shown(address))
  );
}

/** The names by which this machine is called: a page that makes up another one is refused. */
export function ownNames(host: string): string[] {
  const loopback = ["localhost", "127.0.0.1", "[::1]"];
  if (!isWildcard(host)) return [...loopback, shown(host)];
  return [...loopback, hostname(), ...interfaces().map(({ address }) => shown(address))];
}

function interfaces(): NetworkInterfaceInfo[] {
  return Object.values(networkInterfaces()).flatMap((list) => list ?? []);
}

/** Which names in the `Host` header are taken: its own, and those that are given. */
export function hostsOf(flag: string | undefined, host: string): readonly string[] | "any" {
  if (flag === undefined) return ownNames(host);
  if (flag === "any") return "any";
  const names = listOf(flag);
  const wrong = names.find((name) => !/^(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i.test(name));
  if (names.length === 0 || wrong !== undefined) {
    throw new Failure(
      `--hosts is any, or names such as api.example,api.example:8080, not ${JSON.stringify(wrong ?? flag)}`,
    );
  }
  return [...ownNames(host), ...names];
}

/** Pages of which origins may call. */
export function originsOf(flag: string | undefined): readonly string[] {
  if (flag === undefined) return [];
  const origins = listOf(flag);
  const wrong = origins.find((origin) => !isOrigin(origin));
  if (origins.length === 0 || wrong !== undefined) {
    throw new Failure(
      `--origins is a list such as https://app.example,http://localhost:5173, not ${JSON.stringify(wrong ?? flag)}`,
    );
  }
  return origins;
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text.toLowerCase();
}

function listOf(flag: string): string[] {
  return flag
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** Whether a request names this machine; a name that was rebound to it is not ours. */
export function isOwnHost({ headers, socket }: IncomingMessage): boolean {
  const names = ["127.0.0.1", "localhost", "[::1]"];
  return names.some((name) => headers.host?.toLowerCase() === `${name}:${socket.localPort}`);
}
