/** The same connections, with requests that each candidate brings: they name its session. */
export { connect } from "./http-server.mjs";
