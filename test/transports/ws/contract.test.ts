import { describeTransport, serving } from "../contract.ts";
import { wsFront } from "./front.ts";

describeTransport("WebSocket", serving(wsFront));
