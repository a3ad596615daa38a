import { method } from "callwire";
import { z } from "zod";

const notes = ["milk", "bread", "a ladder"];

export const methods = {
  notes: {
    list: method({ summary: "All notes", result: z.array(z.string()) }, () => notes),
    add: method({ params: z.object({ text: z.string() }) }, ({ text }) => notes.push(text)),
    // Hidden from callers that are not operators.
    wipe: method({ access: { roles: ["operator"] } }, () => "wiped"),
  },
  report: method({ summary: "Expensive" }, () => "a long report"),
};
