/** The cost of observability shows best on the wire that most people use. */
export { connect } from "./http-server.mjs";
