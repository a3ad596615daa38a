/** JSON-RPC over standard input and output, to a child process or from a parent. @module callwire/stdio */
export { type ProcessOptions, spawnConnection } from "./connect.ts";
export { type StdioLinkOptions, stdioLink } from "./link.ts";
export { type ServeStdioOptions, type StdioServer, serveStdio } from "./serve.ts";
