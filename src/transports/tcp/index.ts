/** JSON-RPC over TCP, TLS, unix sockets and Windows named pipes. @module callwire/tcp */
export { type ConnectOptions, connectSocket } from "./connect.ts";
export { type SocketLinkOptions, tcpLink, type UnixLinkOptions, unixLink } from "./link.ts";
export { type ServeSocketOptions, type SocketServer, serveSocket } from "./serve.ts";
