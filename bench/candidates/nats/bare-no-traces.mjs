import bare from "./bare.mjs";

/** The same without the stack that the client takes for each request. */
export default ({ origin }) => bare({ origin, options: { noAsyncTraces: true } });
