/** The same requests as those of http-realistic. */
export { connect } from "./http-realistic.mjs";
