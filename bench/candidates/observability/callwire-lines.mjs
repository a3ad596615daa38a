import { lineLog, logging } from "callwire/observability";
import { serving } from "./serving.mjs";

const log = lineLog({ pretty: false, write() {} });

export default () => serving([logging({ log })]);
