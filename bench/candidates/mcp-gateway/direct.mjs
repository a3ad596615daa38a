export { default } from "../mcp-http/callwire.mjs";
