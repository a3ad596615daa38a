import { once } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname, type NetworkInterfaceInfo, networkInterfaces } from "node:os";
import { commaSeparated } from "./command-arguments.ts";
import { invalid } from "./failure.ts";

function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/** The address as part of a URL; a wildcard becomes the loopback address. */
export function urlHost(host: string): string {
  if (isWildcard(host)) return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}

/** The addresses by which other machines reach a server that listens on `host`. */
export function networkAddresses(host: string): string[] {
  if (/^(localhost|127\..*|::1)$/.test(host)) return [];
  if (!isWildcard(host)) return [urlHost(host)];
  const families = host === "::" ? ["IPv4", "IPv6"] : ["IPv4"];
  return (
    interfaces()
      .filter(({ internal, family }) => !internal && families.includes(family))
      // Link-local addresses also need an interface name.
      .filter(({ address }) => !/^fe80:/i.test(address))
      .map(({ address }) => urlHost(address))
  );
}

function ownNames(host: string): string[] {
  const loopback = ["localhost", "127.0.0.1", "[::1]"];
  if (!isWildcard(host)) return [...loopback, urlHost(host)];
  return [...loopback, hostname(), ...interfaces().map(({ address }) => urlHost(address))];
}

function interfaces(): NetworkInterfaceInfo[] {
  try {
    return Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  } catch {
    // Sandboxes without AF_NETLINK refuse this; --hosts can list the addresses.
    return [];
  }
}

/** The allowed `Host` headers: this machine's own names, and those of `--hosts`. */
export function hostsOf(flag: string | undefined, host: string): readonly string[] | "any" {
  if (flag === undefined) return ownNames(host);
  if (flag === "any") return "any";
  const expected = '"any" or names such as api.example,api.example:8080';
  return [...ownNames(host), ...namesIn("--hosts", flag, isHostName, expected)];
}

export function originsOf(flag: string | undefined): readonly string[] {
  const expected = "origins such as https://app.example,http://localhost:5173";
  return flag === undefined ? [] : namesIn("--origins", flag, isOrigin, expected);
}

function namesIn(
  option: string,
  text: string,
  isValid: (name: string) => boolean,
  expected: string,
): string[] {
  const names = commaSeparated(text);
  const wrong = names.find((name) => !isValid(name));
  if (names.length > 0 && wrong === undefined) return names;
  throw invalid(option, expected, wrong ?? text);
}

function isHostName(text: string): boolean {
  return /^(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i.test(text);
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text.toLowerCase();
}

/** Whether the `Host` header names this machine; this rejects DNS rebinding. */
export function isOwnHost({ headers, socket }: IncomingMessage): boolean {
  const names = ["127.0.0.1", "localhost", "[::1]"];
  return names.some((name) => headers.host?.toLowerCase() === `${name}:${socket.localPort}`);
}

/** Listens on the loopback address only; resolves with the port. */
export async function listenOnLoopback(server: Server, port: number): Promise<number> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
