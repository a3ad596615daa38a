import { printable } from "callwire";
import type { InputHandlers } from "callwire/mcp/client";
import { openBrowser } from "../open-browser.ts";
import type { Terminal } from "../terminal.ts";
import type { Ask, Dialog } from "./dialog.ts";
import { type Field, fieldsOf, type Reading } from "./field.ts";
import type { IdleTimeout } from "./idle-timeout.ts";

type Handler<Name extends "elicitForm" | "elicitUrl"> = NonNullable<InputHandlers[Name]>;
type Form = Parameters<Handler<"elicitForm">>[0];
type Page = Parameters<Handler<"elicitUrl">>[0];
type Answer = Awaited<ReturnType<Handler<"elicitForm">>>;

export function elicitation(dialog: Dialog, idle: IdleTimeout): InputHandlers {
  const asking = (run: (ask: Ask) => Promise<Answer>, signal: AbortSignal): Promise<Answer> =>
    idle.pausedDuring(() => dialog.alone(run, signal));
  const { terminal } = dialog;
  return {
    elicitForm: (form, { signal }) => asking((ask) => fillIn(form, ask, terminal), signal),
    elicitUrl: (page, { signal }) => asking((ask) => visit(page, ask, terminal), signal),
  };
}

/** Asks for each field, then sends all of them or none. */
async function fillIn(
  { message, requestedSchema }: Form,
  ask: Ask,
  terminal: Terminal,
): Promise<Answer> {
  begin(message, terminal);
  const content: Record<string, unknown> = {};
  for (const field of fieldsOf(requestedSchema)) {
    for (const line of field.about) terminal.line(printable(line));
    const reading = await read(field, ask, terminal);
    if (reading === undefined) return { action: "decline" };
    if ("value" in reading) content[field.name] = reading.value;
  }
  const typed = await ask("Send this? (y or n, default y): ");
  const isSent = typed !== undefined && !/^n/i.test(typed.trim());
  return isSent ? { action: "accept", content } : { action: "decline" };
}

/** Repeats the question until the answer is valid; undefined if the user declines. */
async function read(field: Field, ask: Ask, terminal: Terminal): Promise<Reading | undefined> {
  for (;;) {
    const typed = await ask(printable(field.question));
    if (typed === undefined) return undefined;
    const reading = await field.read(typed.trim());
    if (reading.fault === undefined) return reading;
    terminal.line(terminal.red(`The answer ${printable(reading.fault)}.`));
  }
}

/** Shows the whole address, and opens it only with consent. */
async function visit({ message, url }: Page, ask: Ask, terminal: Terminal): Promise<Answer> {
  begin(message, terminal);
  terminal.line(terminal.cyan(printable(url)));
  const isPage = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  const how = isPage ? "o to open it, v if you visit it yourself" : "v if you visit it";
  for (;;) {
    const typed = (await ask(`Visit this page? (${how}, n to decline): `))?.trim().toLowerCase();
    if (typed === undefined || typed === "n") return { action: "decline" };
    if (typed === "o" && isPage) openBrowser(url);
    if (typed === "v" || (typed === "o" && isPage)) return { action: "accept" };
  }
}

function begin(message: string, terminal: Terminal): void {
  terminal.line(`${terminal.bold("The server asks:")} ${printable(message)}`);
  terminal.line(terminal.dim("Press Ctrl-D to decline."));
}
