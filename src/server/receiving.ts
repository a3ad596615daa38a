import type { CallContext, Context } from "../protocol/context.ts";
import { RpcError } from "../protocol/errors.ts";
import { caught } from "../protocol/handler-reply.ts";
import type { ErrorObject, MaybePromise, Reply, TypedPaths } from "../protocol/message.ts";
import { invalidParams } from "../protocol/standard-errors.ts";
import type { Schema } from "../protocol/standard-schema.ts";
import { openUpload } from "../protocol/upload.ts";
import { invalidParamsReply } from "./validate.ts";

/** Runs the handler of a method with valid params. */
export type Invoke = (params: unknown, context: Context) => MaybePromise<Reply>;

/** Gives the handler the items that its caller sends. */
export function receiving(schema: Schema, invoke: Invoke): Invoke {
  const { validate } = schema["~standard"];
  const check = async (value: unknown): Promise<unknown> => {
    const checked = await validate(value);
    if (checked.issues === undefined) return checked.value;
    const { code, message, data } = invalidParamsReply(checked.issues).error as ErrorObject;
    throw new RpcError(code, message, { of: "an item of the upload", ...(data as object) });
  };
  return async (params, context) => {
    try {
      const upload = openUpload(context, (value, types) =>
        check(converted(value, types, context.incoming)),
      );
      Object.defineProperty(context, "upload", { value: upload, enumerable: true });
      try {
        return await invoke(params, context);
      } finally {
        upload.close();
      }
    } catch (thrown) {
      return caught(thrown, context);
    }
  };
}

/** The rich values of an item. */
function converted(
  value: unknown,
  types: TypedPaths | undefined,
  incoming: CallContext | undefined,
): unknown {
  if (types === undefined || incoming === undefined) return value;
  try {
    return incoming.values.decode(value, types);
  } catch (thrown) {
    throw invalidParams((thrown as TypeError).message);
  }
}
