import { logging } from "callwire/observability";
import { serving } from "./serving.mjs";

const sink = { debug() {}, info() {}, warn() {}, error() {} };

export default () => serving([logging({ log: sink })]);
