/** The same calls as those of the HTTP clients. */
export { prepare } from "./http-client.mjs";
