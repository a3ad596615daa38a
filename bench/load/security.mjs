/** The same requests as those of the HTTP server, with a key in a header. */
export { connect } from "./http-server.mjs";
