import { serveMcpStdio } from "callwire/mcp";
import { addServer } from "../mcp-add.mjs";

export default () => {
  serveMcpStdio(addServer());
  return {};
};
