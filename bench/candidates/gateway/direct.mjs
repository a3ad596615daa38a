export { default } from "../http-server/callwire.mjs";
