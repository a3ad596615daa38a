import { type MaybePromise, type Reply, success } from "../protocol/message.ts";
import type { Schema, ValidationResult } from "../protocol/standard-schema.ts";
import { issuesTold } from "./validate.ts";

/** A result that is not what its method declares is a fault of the server, and is thrown as one. */
export function resultCheck(schema: Schema): (result: unknown) => MaybePromise<Reply> {
  const { validate } = schema["~standard"];
  return (result) => {
    const checked = validate(result);
    return checked instanceof Promise ? checked.then(replyOf) : replyOf(checked);
  };
}

function replyOf(checked: ValidationResult<unknown>): Reply {
  return success(checkedValue(checked, "result"));
}

export function checkedValue(checked: ValidationResult<unknown>, what: string): unknown {
  if (checked.issues !== undefined) {
    throw new TypeError(`the ${what} is not what its method declares`, {
      cause: issuesTold(checked.issues),
    });
  }
  return checked.value;
}
