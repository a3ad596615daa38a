import { addWith } from "../mcp-client-of.mjs";

export default (upstream) => addWith("legacy", upstream);
