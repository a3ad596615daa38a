/** The same connections, with requests that each candidate brings. */
export { connect } from "./http-server.mjs";
