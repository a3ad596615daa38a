import { signal } from "@preact/signals";
import { classify, classifyClosed, type Direction, type Told } from "./classify.ts";
import { type TransportName, transportLabels } from "./settings.ts";

/** A message as it was sent or received. */
export interface WireMessage extends Told {
  /** Counts all messages, from 1. */
  readonly number: number;
  /** When it was sent or received, in milliseconds since the epoch. */
  readonly at: number;
  readonly direction: Direction;
  readonly transport: TransportName;
  readonly text: string;
  readonly bytes: number;
}

/** Most that is kept; older messages are dropped. */
export const mostMessages = 20_000;
const mostBytes = 64 * 1024 * 1024;

let kept: WireMessage[] = [];
let keptBytes = 0;
let count = 0;
let announced = false;
const closedText = "The request was closed before its answer was complete; no message says so.";
const encoder = new TextEncoder();

/** Changes at most once a frame, when there are new messages. */
export const revision = signal(0);
/** The number of the message after which nothing is shown, while the view is paused. */
export const pausedAfter = signal<number | undefined>(undefined);
export const filter = signal("");
export const selected = signal<number | undefined>(undefined);

export function record(transport: TransportName, text: string, direction: Direction): void {
  const found = classify(transport, text, direction, performance.now());
  const bytes = text.length < 1024 ? encoder.encode(text).length : utf8Length(text);
  keep({ direction, transport, text, bytes, ...found });
}

/** The page closed a request before the reply was complete. HTTP has no message for that. */
export function recordClosed(transport: TransportName, request: string): void {
  const found = classifyClosed(transport, request, performance.now());
  keep({ direction: "sent", transport, text: closedText, bytes: 0, ...found });
}

function keep(message: Omit<WireMessage, "number" | "at">): void {
  kept.push({ number: ++count, at: Date.now(), ...message });
  keptBytes += message.bytes;
  if (kept.length > mostMessages + 1_000 || keptBytes > mostBytes) trim();
  announce();
}

/** Messages that the view shows, the oldest first. */
export function shown(): readonly WireMessage[] {
  const after = pausedAfter.value;
  const wanted = filter.value.trim().toLowerCase();
  if (after === undefined && wanted === "") return kept;
  return kept.filter(
    (message) =>
      (after === undefined || message.number <= after) &&
      (wanted === "" || matches(message, wanted)),
  );
}

export function total(): number {
  return count;
}

export function messageAt(number: number | undefined): WireMessage | undefined {
  return number === undefined ? undefined : kept.find((message) => message.number === number);
}

export function clear(): void {
  kept = [];
  keptBytes = 0;
  selected.value = undefined;
  if (pausedAfter.value !== undefined) pausedAfter.value = count;
  revision.value++;
}

export function togglePause(): void {
  pausedAfter.value = pausedAfter.value === undefined ? count : undefined;
}

/** In the form of callwire's transcripts: `-->` is sent, `<--` is received. */
export function transcript(messages: readonly WireMessage[]): string {
  return messages
    .map(({ at, direction, kind, label, id, transport, text }) => {
      const head = `# ${new Date(at).toISOString()} ${transportLabels[transport]}`;
      if (kind === "closed") return `${head}, ${label} #${id} was closed\n`;
      const arrow = direction === "sent" ? "-->" : "<--";
      return `${head}\n${arrow} ${text.replaceAll("\n", " ")}\n`;
    })
    .join("");
}

function announce(): void {
  if (announced) return;
  announced = true;
  // A page in the background draws no frames, so a timer is used.
  const tell = (): void => {
    announced = false;
    revision.value++;
  };
  if (document.hidden) setTimeout(tell, 200);
  else requestAnimationFrame(tell);
}

function trim(): void {
  let drop = Math.max(0, kept.length - mostMessages);
  let bytes = kept.slice(0, drop).reduce((sum, message) => sum + message.bytes, 0);
  while (keptBytes - bytes > mostBytes && drop < kept.length - 1) bytes += kept[drop++]?.bytes ?? 0;
  kept = kept.slice(drop);
  keptBytes -= bytes;
}

function utf8Length(text: string): number {
  return new Blob([text]).size;
}

function matches(message: WireMessage, wanted: string): boolean {
  return (
    message.label.toLowerCase().includes(wanted) ||
    message.kind.includes(wanted) ||
    message.text.toLowerCase().includes(wanted)
  );
}
