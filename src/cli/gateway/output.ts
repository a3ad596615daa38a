import { consoleLog, type Log } from "callwire";
import { oneLine } from "../failure.ts";
import { notice } from "../terminal.ts";

const longestReason = 300;

/** Warnings as one line each, for people: what happened, where, and why. */
export const plainLog: Log = {
  ...consoleLog,
  warn(fields, message) {
    const { upstream, target, reason, err, ...rest } = fields as Record<string, unknown>;
    const why = reason ?? err;
    const said = why === undefined ? "" : cut(without(target, oneLine(why)));
    const parts = [message, upstream, target, said];
    const line = parts.filter((part) => part !== undefined && part !== "").join(": ");
    const more = Object.entries(rest).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
    notice(`${line}${more.join("")}`);
  },
};

/** Several of the wires name the address in what they say, and it stands before that already. */
function without(target: unknown, reason: string): string {
  if (typeof target !== "string" || target === "") return reason;
  const rest = reason.startsWith(target) ? reason.slice(target.length) : reason;
  return rest.replace(/^:?\s*/, "").replace(` to ${target}`, "");
}

function cut(text: string): string {
  return text.length > longestReason ? `${text.slice(0, longestReason)}…` : text;
}

/** A line that does not end is passed on after so long, or when it has so many bytes. */
const patienceMs = 200;
const longestLine = 8_192;

/** Passes on what a program says line by line, with its name before each. What is no UTF-8 stays as it is. */
export function prefixedOutput(
  name: string,
  write: (bytes: Uint8Array) => unknown,
): (chunk: Uint8Array) => void {
  const mark = Buffer.from(`[${name}] `).toString("latin1");
  let rest = "";
  let timer: NodeJS.Timeout | undefined;
  const pass = (lines: readonly string[]): void => {
    const text = lines.map((line) => `${mark}${line}\n`).join("");
    if (text !== "") write(Buffer.from(text, "latin1"));
  };
  const passRest = (): void => {
    pass([rest]);
    rest = "";
  };
  return (chunk) => {
    clearTimeout(timer);
    const lines = (rest + Buffer.from(chunk).toString("latin1")).split("\n");
    rest = lines.pop() ?? "";
    pass(lines);
    if (rest.length > longestLine) passRest();
    else if (rest !== "") timer = setTimeout(passRest, patienceMs).unref();
  };
}
