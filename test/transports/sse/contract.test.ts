import { describeTransport, serving } from "../contract.ts";
import { sseFront } from "./front.ts";

describeTransport("server-sent events", serving(sseFront));
