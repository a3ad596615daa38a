import bare from "./bare.mjs";

/** The same without the stack trace that the client creates for each request. */
export default ({ origin }) => bare({ origin, options: { noAsyncTraces: true } });
