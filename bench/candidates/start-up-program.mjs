/** The programs of the suite start-up. */
import { fileURLToPath } from "node:url";

const cli = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const methods = fileURLToPath(new URL("start-up-methods.mjs", import.meta.url));

export const importing = (entry) => program(`import ${JSON.stringify(entry)};`);

export const program = (code) => ({ args: ["--input-type=module", "-e", code] });

/** A command of callwire, with a module of methods instead of `METHODS`. */
export const command = (args, rest) => ({
  args: [cli, ...args.map((each) => (each === "METHODS" ? methods : each))],
  ...rest,
});

/** One call of `add`, as a line for standard input. */
export const call = {
  input: '{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}\n',
  expected: '"result":5',
};
