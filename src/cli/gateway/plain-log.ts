import { consoleLog, type Log } from "callwire";
import { oneLine } from "../failure.ts";
import { notice } from "../notice.ts";

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
