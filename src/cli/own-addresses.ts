import { hostname, type NetworkInterfaceInfo, networkInterfaces } from "node:os";

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
