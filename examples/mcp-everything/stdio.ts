import { serveMcpStdio } from "callwire/mcp";
import { everything } from "./everything.ts";

serveMcpStdio(everything);
