export { default } from "../http-realistic/callwire.mjs";
