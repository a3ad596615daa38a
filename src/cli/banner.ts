import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import type { Log, Method } from "callwire";
import { version } from "./command.ts";
import type { Mount, Wires } from "./served-wires.ts";
import { quoted, shellWord } from "./shell-words.ts";
import { counted, Terminal } from "./terminal.ts";

/** The certificate of the server, as its file and in PEM. */
export interface ServedCertificate {
  readonly file: string;
  readonly pem: Buffer;
}

interface Announcing {
  readonly isStdio: boolean;
  readonly certificate: ServedCertificate | undefined;
  /** Takes the place of the banner. */
  readonly log: Log | undefined;
}

/** Prints the addresses and commands to try. Returns what prints further lines; undefined if nobody reads them. */
export function announce(
  mounts: readonly [Mount, ...Mount[]],
  wires: Wires,
  { isStdio, certificate, log }: Announcing,
): ((line: string) => void) | undefined {
  // With --stdio, stdout carries messages only.
  const terminal = new Terminal(isStdio ? process.stderr : process.stdout);
  // A parent process expects only errors on stderr.
  const isChild = isStdio && wires.origin === undefined && wires.sockets.length === 0;
  if (isChild && !terminal.isTerminal) return undefined;
  if (log !== undefined) {
    logStart(mounts, wires, isStdio, log);
    return (line) => log.info({}, line);
  }
  terminal.line(`${terminal.bold(`callwire ${version}`)} ${whatIsServed(mounts[0])}`);
  terminal.line();
  showRows(rowsOf(mounts, wires, isStdio), terminal);
  if (wires.networkAddresses.length > 0) warnOfNetwork(mounts[0].path, wires, terminal);
  const lines = triesOf(mounts, wires, certificate);
  if (lines.length > 0) {
    terminal.line();
    terminal.line("Try:");
    for (const line of lines) terminal.line(`  ${line}`);
  }
  terminal.line();
  terminal.line(terminal.dim(isStdio ? "Close stdin to stop." : "Press Ctrl-C to stop."));
  return (line) => terminal.line(line);
}

/** Logs what the banner says, because programs that read a log of JSON cannot read a banner. */
function logStart(
  mounts: readonly [Mount, ...Mount[]],
  wires: Wires,
  isStdio: boolean,
  log: Log,
): void {
  const addresses = rowsOf(mounts, wires, isStdio).map(([wire, address]) => ({ wire, address }));
  log.info({ version, addresses }, `callwire ${whatIsServed(mounts[0])}`);
}

function whatIsServed({ server: { methods }, isAgent, forwardsTo }: Mount): string {
  if (forwardsTo !== undefined) return `forwards to ${forwardsTo}`;
  if (isAgent === true) return "serves an A2A agent";
  return methods === undefined ? "forwards calls" : `serves ${counted(methods.size, "method")}`;
}

function showRows(rows: readonly Row[], terminal: Terminal): void {
  const [left, middle] = [0, 1].map((i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  for (const [wire, address, note = ""] of rows) {
    const row = `  ${terminal.dim(wire.padEnd(left ?? 0))}  ${terminal.cyan(address)}`;
    const gap = " ".repeat((middle ?? 0) - address.length + 2);
    terminal.line(note === "" ? row : row + gap + terminal.dim(note));
  }
}

/** Reminds the user that other machines can call the server. */
function warnOfNetwork(
  path: string,
  { origin, networkAddresses, sockets, refusesOtherHosts }: Wires,
  terminal: Terminal,
): void {
  const { protocol, port } = origin === undefined ? {} : new URL(origin);
  const tcp = sockets.find(({ wire }) => wire === "TCP")?.address.replace(/^.*:/, "");
  if (port === undefined && tcp === undefined) return;
  terminal.line();
  terminal.line(terminal.yellow("Everyone in your network can call this server:"));
  for (const address of networkAddresses) {
    const host = port === "" ? address : `${address}:${port}`;
    const url = port === undefined ? `${address}:${tcp}` : `${protocol}//${host}${path}`;
    terminal.line(`  ${terminal.cyan(url)}`);
  }
  if (port === undefined || !refusesOtherHosts) return;
  terminal.line("Other names, such as that of a service, get 403 until --hosts lists them:");
  terminal.line("  --hosts users.prod.svc,api.example");
}

type Row = readonly [wire: string, address: string, note?: string];

function rowsOf(mounts: readonly [Mount, ...Mount[]], wires: Wires, isStdio: boolean): Row[] {
  const { origin, sockets, framing } = wires;
  const rows: Row[] = [];
  if (origin !== undefined) {
    if (wires.hasPlayground)
      rows.push(["Playground", `${origin}/`, "explore and call the methods"]);
    const [{ path }] = mounts;
    for (const mount of mounts)
      if (mount.isAgent === true || hasMethods(mount))
        rows.push([mount.isAgent === true ? "Agent" : "HTTP", origin + mount.path, mount.versions]);
    if (hasMethods(mounts[0])) {
      rows.push(["WebSocket", `${origin.replace(/^http/, "ws")}${below(path, "ws")}`]);
      rows.push(["SSE", origin + below(path, "stream")]);
    }
    if (mounts[0].agents !== undefined) rows.push(["MCP", `${origin}/mcp`, "for agents"]);
    for (const page of wires.pages) rows.push([titleOf(page), origin + page]);
    rows.push(["Health", `${origin}/healthz`, "and /readyz"]);
  }
  for (const { wire, address } of sockets)
    rows.push([wire, address, wire === "NATS" ? "a worker of this subject" : `${framing} framing`]);
  if (isStdio) rows.push(["stdio", "standard input and output", `${framing} framing`]);
  return rows;
}

/** Whether it is for callers of JSON-RPC. */
function hasMethods({ isAgent, forwardsTo }: Mount): boolean {
  return isAgent !== true && forwardsTo === undefined;
}

/** `Metrics` for `/metrics`. */
function titleOf(page: string): string {
  if (page.endsWith("/agent-card.json")) return "Card";
  const [, name = page] = /^\/(\w+)$/.exec(page) ?? [];
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function below(path: string, name: string): string {
  return path.endsWith("/") ? path + name : `${path}/${name}`;
}

function triesOf(
  mounts: readonly [Mount, ...Mount[]],
  wires: Wires,
  certificate: ServedCertificate | undefined,
): string[] {
  if (wires.origin === undefined) return [];
  const origin =
    certificate === undefined ? wires.origin : certifiedOrigin(wires.origin, certificate);
  // Certificates of public authorities are accepted this way as well.
  const trust = certificate === undefined ? "" : ` --cacert ${shellWord(certificate.file)}`;
  const [{ path, server, forwardsTo }] = mounts;
  const lines: (string | undefined)[] = [];
  if (hasMethods(mounts[0])) {
    lines.push(curlLine(origin + path, server, trust));
    lines.push(streamLine(origin + below(path, "stream"), server, trust));
  }
  if (forwardsTo !== undefined) lines.push(`npx callwire mcp ${origin}/mcp tools${trust}`);
  const agent = mounts.find(({ isAgent }) => isAgent === true);
  if (agent !== undefined)
    lines.push(`npx callwire a2a ${origin} ${agent.sample ?? "card"}${trust}`);
  return lines.filter((line) => line !== undefined);
}

/** The origin, by the name of this machine that the certificate has. */
function certifiedOrigin(origin: string, { pem }: ServedCertificate): string {
  const { hostname } = new URL(origin);
  const address = hostname.replace(/^\[|\]$/g, "");
  const certificate = new X509Certificate(pem);
  const isNamed = isIP(address) ? certificate.checkIP(address) : certificate.checkHost(address);
  const isLoopback = /^(127\.|::1$)/.test(address);
  if (isNamed !== undefined || !isLoopback || certificate.checkHost("localhost") === undefined)
    return origin;
  return origin.replace(hostname, "localhost");
}

/** Calls a method that has an example or no params, so that it works. */
function curlLine(
  url: string,
  { methods = new Map(), use }: Mount["server"],
  trust: string,
): string {
  const callable = [...methods].filter(([, { kind }]) => kind === "method");
  const [name, entry] =
    callable.find(([, { definition }]) => definition.examples?.[0]?.result !== undefined) ??
    callable.find(([, { parameters }]) => takesNothing(parameters)) ??
    [];
  const params = entry?.definition.examples?.[0]?.params;
  const request = { jsonrpc: "2.0", method: name ?? "rpc.discover", params, id: 1 };
  // Some shells treat the brackets of [::1] as a pattern.
  const target = url.includes("[") ? quoted(url) : url;
  const headers = `-H 'content-type: application/json'${credentialHeader(use)}`;
  return `curl${trust} ${target} ${headers} -d ${quoted(JSON.stringify(request))}`;
}

/** The header that the server requires, with a variable for the secret. */
function credentialHeader(use: Mount["server"]["use"]): string {
  const [scheme] = use.flatMap(({ schemes = [] }) => schemes);
  if (scheme?.type === "apiKey") return ` -H "${scheme.name}: $CALLWIRE_KEY"`;
  const isBearer = scheme?.type === "http" && scheme.scheme.toLowerCase() === "bearer";
  return isBearer ? ' -H "authorization: Bearer $CALLWIRE_TOKEN"' : "";
}

function takesNothing(parameters: Method["parameters"]): boolean {
  return parameters?.form === "named" && parameters.names.length === 0;
}

/** Calls a stream with an example, whose params fit into a query. */
function streamLine(
  url: string,
  { methods = new Map(), use }: Mount["server"],
  trust: string,
): string | undefined {
  for (const [name, { kind, definition }] of methods) {
    const params = definition.examples?.[0]?.params;
    if (kind !== "stream" || typeof params !== "object" || params === null) continue;
    const query = new URLSearchParams({ method: name });
    if (Object.entries(params).every(isPlain)) {
      for (const [key, value] of Object.entries(params)) query.set(key, value);
    } else query.set("params", JSON.stringify(params));
    // Slashes need no escape in a query.
    const address = `${url}?${query.toString().replaceAll("%2F", "/")}`;
    return `curl -N${trust} ${quoted(address)}${credentialHeader(use)}`;
  }
  return undefined;
}

/** Whether a param survives a query unchanged. */
function isPlain([key, value]: [string, unknown]): boolean {
  if (/^(\d+|method|id|params)$/.test(key)) return false;
  if (typeof value === "number") return true;
  return (
    typeof value === "string" && /^[a-z][a-z ,.!]*$/i.test(value) && !/^(true|false)$/.test(value)
  );
}
