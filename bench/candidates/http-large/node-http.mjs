export { default } from "../http-realistic/node-http.mjs";
