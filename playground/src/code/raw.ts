import { message, type Sketch } from "./sketch.ts";

/** The message as it travels, for reading. */
export function raw(sketch: Sketch): string {
  return JSON.stringify(message(sketch), null, 2);
}
