import { serveMcpStdio } from "callwire/mcp";
import { addServer } from "../mcp-add.mjs";

serveMcpStdio(addServer());
