// Lets Node 20 run TypeScript: `node --import ./examples/typescript.mjs program.ts`.
// Node 22.18 and later do so by themselves.
import { register } from "node:module";

register("./typescript-hooks.mjs", import.meta.url);
