import { consoleLog, type Log } from "callwire";
import { oneLine } from "../failure.ts";

const longestReason = 300;

/** Warnings as one line each, for people: what happened, where, and why. */
export const plainLog: Log = {
  ...consoleLog,
  warn(fields, message) {
    const { upstream, target, reason, err, ...rest } = fields as Record<string, unknown>;
    const why = reason ?? err;
    const parts = [message, upstream, target, why === undefined ? undefined : cut(oneLine(why))];
    const said = parts.filter((part) => part !== undefined && part !== "").join(": ");
    const more = Object.entries(rest).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
    console.error(`callwire: ${said}${more.join("")}`);
  },
};

function cut(text: string): string {
  return text.length > longestReason ? `${text.slice(0, longestReason)}…` : text;
}
