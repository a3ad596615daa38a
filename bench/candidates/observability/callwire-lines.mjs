import { lineLog, logging } from "callwire/observability";
import { serving } from "./serving.mjs";

let characters = 0;
const log = lineLog({
  pretty: false,
  write: (line) => {
    characters += line.length;
  },
});

export default () => serving([logging({ log })]);
