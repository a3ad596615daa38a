import { ai } from "./ai.ts";
import { basics } from "./basics.ts";
import { chat } from "./chat.ts";
import { math } from "./math.ts";
import { paritosh } from "./paritosh.ts";
import { slow } from "./slow.ts";
import { ticks } from "./ticks.ts";

/** The methods of `callwire demo`. */
export const methods = { ...basics, math, paritosh, ai, slow, ticks, chat };
