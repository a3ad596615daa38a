import { badReply } from "../../protocol/pair.ts";
import type { Result } from "../results.ts";

/** A kind of result that nobody agreed on must not be taken for another. */
export function completed<R extends Result>(result: R): R {
  const { resultType } = result ?? {};
  if (resultType === undefined || resultType === "complete") return result;
  throw badReply(`the server gave a result of the unknown kind ${JSON.stringify(resultType)}`);
}
