import { callwire } from "./callwire-client.mjs";

export default () => callwire("json");
