import { printable } from "callwire";
import { counted, type Terminal } from "../terminal.ts";
import { showColumns } from "../text-columns.ts";
import type { Inspection } from "./inspection.ts";
import type { LimitRange } from "./limits.ts";

export function showInspection(found: Inspection, terminal: Terminal): void {
  const rows = rowsOf(found).map(([name, text]) => [name, printable(text)] as const);
  terminal.line(terminal.bold(found.url));
  terminal.line();
  showColumns(rows, terminal, { paint: terminal.dim });
  terminal.line();
  terminal.line(
    terminal.dim(
      `${counted(found.messages, "message")}; first reply after ${found.firstAnswerMs} ms`,
    ),
  );
}

type Row = readonly [name: string, text: string];

function rowsOf(found: Inspection): Row[] {
  const { discovery, versions, limits, http } = found;
  const spoken = Object.entries(versions).flatMap(([version, is]) => (is ? [version] : []));
  const rows: Row[] = [
    ["Server", discovery === null ? "unknown" : `${discovery.title} ${discovery.version}`],
    ["Versions", spoken.length === 0 ? "neither 1.0 nor 2.0" : spoken.join(", ")],
    ["Batch", found.batch ? batchText(limits?.batch ?? null) : "no"],
    [
      "Notifications",
      found.notificationsAnswered
        ? "answered, which violates the specification"
        : "yes, not answered",
    ],
    [
      "Discovery",
      discovery === null
        ? "no OpenRPC"
        : `OpenRPC ${discovery.openrpc}, ${counted(discovery.methods, "method")}`,
    ],
    ["Streaming", streamingText(found)],
  ];
  for (const { wire, url } of found.wires) rows.push([wire, url]);
  if (limits !== null) {
    rows.push(["Longest message", boundText(limits.messageBytes, bytesText)]);
    rows.push(["Deepest nesting", boundText(limits.depth, (levels) => `${levels} levels`)]);
  }
  if (http !== null) {
    const statuses = [
      `${statusText(http.call)} for a call`,
      `${statusText(http.notification)} for a notification`,
      `${statusText(http.wrongContentType)} for text/plain`,
      `${statusText(http.notJson)} for invalid JSON`,
    ];
    rows.push(["HTTP status", statuses.join(", ")]);
  }
  return rows;
}

/** A server may close the connection instead of answering. */
function statusText(status: number | null): string {
  return status === null ? "no reply" : `${status}`;
}

function batchText(bound: LimitRange | null): string {
  return bound === null ? "yes" : `yes, ${boundText(bound, (size) => `${size}`)}`;
}

function streamingText({ discovery, wires }: Inspection): string {
  const { streams = [] } = discovery ?? {};
  if (streams.length > 0) return streams.join(", ");
  return wires.some(({ wire }) => wire === "SSE") ? "server-sent events" : "none found";
}

function boundText({ taken, refused }: LimitRange, unit: (count: number) => string): string {
  if (refused === null) return `${unit(taken)} and more`;
  if (refused - taken <= 1) return `up to ${unit(taken)}`;
  return `between ${unit(taken)} and ${unit(refused)}`;
}

function bytesText(bytes: number): string {
  const mebi = bytes / 1024 / 1024;
  const text = mebi >= 1 ? `${trimmed(mebi)} MiB` : `${trimmed(bytes / 1024)} KiB`;
  return bytes % 1024 === 0 ? text : `about ${text}`;
}

function trimmed(value: number): string {
  return value.toFixed(2).replace(/\.?0+$/, "");
}
