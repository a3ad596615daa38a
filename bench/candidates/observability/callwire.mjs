import { serving } from "./serving.mjs";

export default () => serving([]);
