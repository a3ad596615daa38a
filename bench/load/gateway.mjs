/** A gateway is called as any server over HTTP. */
export { connect } from "./http-server.mjs";
