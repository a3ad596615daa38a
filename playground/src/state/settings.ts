import { batch, computed, effect, signal } from "@preact/signals";
import { isObject } from "../schema/resolve.ts";
import { store, stored } from "./storage.ts";

export const transports = ["http", "websocket", "sse"] as const;
export type TransportName = (typeof transports)[number];
export const transportLabels: Readonly<Record<TransportName, string>> = {
  http: "HTTP",
  websocket: "WebSocket",
  sse: "SSE",
};

export type VersionName = "2.0" | "1.0";

/** Where calls go: a path of the server that the page came from. */
export const endpoint = signal("/rpc");
/** The endpoints that the server offers. */
export const endpoints = signal<readonly string[]>(["/rpc"]);
/** The transports that the server has. */
export const wires = signal<readonly TransportName[]>(transports);
/** The server behind the endpoint, if the server of the page only forwards. */
export const target = signal<string | undefined>(undefined);
export const transport = signal<TransportName>("http");
export const version = signal<VersionName>("2.0");

/** Secrets are kept only here, and are lost when the page closes. */
export const bearer = signal("");
/** One `Name: value` per line; may contain secrets. */
export const headerLines = signal("");

/** The headers of every request, and the lines that are not headers. */
export const headers = computed(() => {
  const given: Record<string, string> = {};
  const faulty: string[] = [];
  for (const line of headerLines.value.split("\n")) {
    if (line.trim() === "") continue;
    const [, name, value] = /^\s*([!#$%&'*+.^_`|~\w-]+)\s*:\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined || value === undefined) faulty.push(line.trim());
    else given[name] = value;
  }
  if (bearer.value.trim() !== "") given.authorization = `Bearer ${bearer.value.trim()}`;
  return { given, faulty };
});

/** The address of the endpoint for other programs. */
export const address = computed(() => target.value ?? new URL(endpoint.value, location.href).href);

/** Why an endpoint cannot be called from this page, or undefined. */
export function endpointFault(text: string): string | undefined {
  let url: URL;
  try {
    url = new URL(text, location.href);
  } catch {
    return "This is not an address.";
  }
  if (url.origin === location.origin) return undefined;
  return `This page can call only the server that it was loaded from. For another server, run: callwire playground ${text}`;
}

/** Reads the settings of the server, then restores what was chosen last time. */
export async function loadSettings(): Promise<void> {
  const found = await fetch("./playground.json")
    .then((response) => (response.ok ? response.json() : undefined))
    .catch(() => undefined);
  const kept = stored("settings");
  batch(() => {
    if (isObject(found)) {
      const listed = Array.isArray(found.endpoints) ? found.endpoints.filter(isText) : [];
      if (listed.length > 0) endpoints.value = listed;
      if (isText(found.target)) target.value = found.target;
      const given: readonly unknown[] = Array.isArray(found.wires) ? found.wires : [];
      const known = transports.filter((name) => given.includes(name));
      if (known.length > 0) wires.value = known;
    }
    endpoint.value = endpoints.value[0] ?? "/rpc";
    if (/^wss?:/.test(target.value ?? "")) transport.value = "websocket";
    if (!wires.value.includes(transport.value)) transport.value = wires.value[0] ?? "http";
    if (isObject(kept) && kept.target === target.value) {
      if (isText(kept.endpoint) && endpointFault(kept.endpoint) === undefined) {
        endpoint.value = kept.endpoint;
      }
      const wire = wires.value.find((name) => name === kept.transport);
      if (wire !== undefined) transport.value = wire;
      if (kept.version === "1.0") version.value = "1.0";
    }
  });
  effect(() =>
    store("settings", {
      endpoint: endpoint.value,
      transport: transport.value,
      version: version.value,
      target: target.value,
    }),
  );
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
