export { default } from "../http-realistic/callwire-node.mjs";
