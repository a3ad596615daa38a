import { describeTransport, serving } from "../contract.ts";
import { portFront } from "./front.ts";

describeTransport("a message port", serving(portFront));
