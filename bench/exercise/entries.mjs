/** Starts a process that loads an entry, which is the workload. */
import { prepare as prepareProgram } from "./start-up.mjs";

export const prepare = (programOf, entry) => prepareProgram(programOf(entry));
