import { ai } from "./ai.ts";
import { basics } from "./basics.ts";
import { chat } from "./chat.ts";
import { math } from "./math.ts";
import { paritosh } from "./paritosh.ts";
import { slow } from "./slow.ts";
import { ticks } from "./ticks.ts";

/** What `callwire demo` serves. */
export const methods = { ...basics, math, paritosh, ai, slow, ticks, chat };
