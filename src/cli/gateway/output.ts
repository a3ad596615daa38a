import { consoleLog, type Log } from "callwire";
import { oneLine } from "../failure.ts";
import { notice } from "../terminal.ts";

const longestReason = 300;

/** Prints each warning as one line: what happened, where and why. */
export const plainLog: Log = {
  ...consoleLog,
  warn(fields, message) {
    const { upstream, target, reason, err, ...rest } = fields as Record<string, unknown>;
    const why = reason ?? err;
    const cause = why === undefined ? "" : cut(withoutTarget(target, oneLine(why)));
    const parts = [message, upstream, target, cause];
    const line = parts.filter((part) => part !== undefined && part !== "").join(": ");
    const more = Object.entries(rest).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
    notice(`${line}${more.join("")}`);
  },
};

/** Removes the address, which several wires repeat in their messages. */
function withoutTarget(target: unknown, reason: string): string {
  if (typeof target !== "string" || target === "") return reason;
  const rest = reason.startsWith(target) ? reason.slice(target.length) : reason;
  return rest.replace(/^:?\s*/, "").replace(` to ${target}`, "");
}

function cut(text: string): string {
  return text.length > longestReason ? `${text.slice(0, longestReason)}…` : text;
}

/** Flush an incomplete line after this time or size. */
const flushMs = 200;
const longestLine = 8_192;

/** Prefixes each line of a program with its name; keeps bytes that are not UTF-8. */
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
    else if (rest !== "") timer = setTimeout(passRest, flushMs).unref();
  };
}
