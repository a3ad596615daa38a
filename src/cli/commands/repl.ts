import { command } from "../command.ts";
export const repl = command({ usage: "<url>", options: {}, examples: [], async run() {} });
