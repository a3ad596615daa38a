import { httpFastPath } from "./http-fast-path.ts";
import { httpReplies } from "./http-replies.ts";
import { multipart } from "./multipart.ts";
import type { FuzzTarget } from "./random.ts";

export { Random } from "./random.ts";

/** All targets by name, with the inputs that take about two seconds, which the tests try. */
export const targets: Readonly<Record<string, FuzzTarget & { readonly briefly: number }>> = {
  "http-fast-path": { ...httpFastPath, briefly: 10_000 },
  "http-replies": { ...httpReplies, briefly: 4_000 },
  multipart: { ...multipart, briefly: 10_000 },
};
