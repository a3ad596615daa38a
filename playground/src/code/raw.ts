import { message, type Sketch } from "./sketch.ts";

/** The message as it is sent, indented. */
export function raw(sketch: Sketch): string {
  return JSON.stringify(message(sketch), null, 2);
}
