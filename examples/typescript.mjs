// Lets Node 20 run TypeScript: `node --import ./examples/typescript.mjs program.ts`.
// Node 22.18 and later support this natively.
import { register } from "node:module";

register("./typescript-hooks.mjs", import.meta.url);
