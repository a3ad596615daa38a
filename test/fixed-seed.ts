/** Properties are tried with the same values in each run; the full run looks for new ones. */
import fc from "fast-check";
import { isFull } from "./full.ts";

if (!isFull) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 1 });
