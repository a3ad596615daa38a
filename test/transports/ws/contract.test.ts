import { isFull } from "../../full.ts";
import { describeTransport, serving } from "../contract.ts";
import { wsFront, wsFrontWith } from "./front.ts";

describeTransport("WebSocket", serving(wsFront));

if (isFull) describeTransport("WebSocket, compressed", serving(wsFrontWith({ compress: true })));
