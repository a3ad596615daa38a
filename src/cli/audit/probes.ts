import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import { codeOf } from "../inspect/prober.ts";
import { parsed } from "../json-values.ts";
import type { Finding } from "./server.ts";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly code: number | undefined;
}

export interface Probe {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const longestAnswer = 4 * 1024 * 1024;

/** Sends a request unchanged; `fetch` does not allow another Host header. */
export function probe(url: URL, timeoutMs: number, ask: Probe): Promise<Answer> {
  const { method = "POST", body = "" } = ask;
  const headers = { "content-type": "application/json", ...ask.headers };
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const outgoing = send(url, { method, headers, agent: false }, (response) => {
      let text = "";
      const answered = (): void => {
        clearTimeout(late);
        const { statusCode: status = 0, headers } = response;
        resolve({ status, headers, text, code: codeOf(parsed(text)) });
      };
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
        if (text.length < longestAnswer) return;
        answered();
        outgoing.destroy();
      });
      response.on("error", failed);
      response.on("end", answered);
    });
    const failed = (error: Error): void => {
      clearTimeout(late);
      reject(error);
    };
    // The limit is for the whole response, which may be endless.
    const late = setTimeout(() => {
      failed(new Error(`no reply within ${timeoutMs} ms`));
      outgoing.destroy();
    }, timeoutMs);
    outgoing.on("error", failed);
    outgoing.end(body);
  });
}

export type AskAt = (path: string, probe: Probe) => Promise<Answer>;

interface OtherEndpoint {
  readonly isOpen: (ask: AskAt) => Promise<boolean>;
  /** Whether a caller can act, not only read. */
  readonly acts: boolean;
  readonly what: string;
  readonly fix: string;
}

const otherEndpoints: readonly OtherEndpoint[] = [
  {
    isOpen: showsTools,
    acts: true,
    what: "/mcp is open: everyone who can connect can list its tools",
    fix: 'mcpMounts(mcp, { authorization }), or authenticate(…) in "use" of its server',
  },
  {
    async isOpen(ask) {
      const { status, text } = await ask("/metrics", { method: "GET" });
      return status === 200 && /^# (TYPE|HELP) /m.test(text);
    },
    acts: false,
    what: "/metrics is open: it shows the methods and how often they are called",
    fix: "serve it on another port or address that only the scraper can reach",
  },
  {
    async isOpen(ask) {
      const { status, text } = await ask("/playground.json", { method: "GET" });
      return status === 200 && text.startsWith('{"endpoints":[');
    },
    acts: false,
    what: "the playground is open: everyone who can connect can explore the server",
    fix: "remove playground from the options of serveHttp on public servers",
  },
];

export async function findingsOfOtherEndpoints(ask: AskAt, isLocal: boolean): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { isOpen, acts, what, fix } of otherEndpoints) {
    if (await isOpen(ask)) findings.push({ severity: severityOf(acts, isLocal), what, fix });
  }
  return findings;
}

function severityOf(acts: boolean, isLocal: boolean): Finding["severity"] {
  if (acts) return isLocal ? "medium" : "high";
  return isLocal ? "low" : "medium";
}

const protocolVersion = "2025-06-18";
const clientInfo = { name: "callwire-audit", version: "1" };

/** Lists the tools, because a server may allow initialize but protect each tool. */
async function showsTools(ask: AskAt): Promise<boolean> {
  const accept = { accept: "application/json, text/event-stream" };
  const initialize = { protocolVersion, capabilities: {}, clientInfo };
  const first = await ask("/mcp", { headers: accept, body: message("initialize", initialize, 1) });
  if (first.status !== 200 || !first.text.includes('"protocolVersion"')) return false;
  const { "mcp-session-id": session } = first.headers;
  const headers = {
    ...accept,
    "mcp-protocol-version": protocolVersion,
    ...(typeof session === "string" ? { "mcp-session-id": session } : undefined),
  };
  await ask("/mcp", { headers, body: message("notifications/initialized") });
  const { text } = await ask("/mcp", { headers, body: message("tools/list", {}, 2) });
  if (typeof session === "string") await ask("/mcp", { method: "DELETE", headers });
  return text.includes('"inputSchema"');
}

function message(method: string, params?: object, id?: number): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params, id });
}
