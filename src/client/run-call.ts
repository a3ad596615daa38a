import { checkTimeout } from "../protocol/clock.ts";
import { WireError } from "../protocol/errors.ts";
import type { Handle } from "../protocol/handle.ts";
import type { Reply } from "../protocol/message.ts";
import type { Running } from "../protocol/running.ts";
import type { OutgoingCall } from "./outgoing-call.ts";
import type { RichCalls } from "./rich-calls.ts";

/** Makes a call. The promise always settles: with the reply, or with a local failure. */
export function runCall(
  call: OutgoingCall,
  handle: Handle,
  running: Running,
): Promise<Reply | undefined> {
  const { options } = call;
  return new Promise((resolve, reject) => {
    checkTimeout(call.timeoutMs);
    const abort = (): void => {
      const reason: unknown = (options.signal?.aborted ? options.signal : options.within?.signal)
        ?.reason;
      call.fail(
        new WireError("ABORTED", `${call.method} was cancelled by its caller`, { cause: reason }),
      );
    };
    const done = (): void => {
      running.leave(call);
      call.cancel = undefined;
      call.onFail = undefined;
      call.upload?.stop();
      if (call.streams) call.items.end();
      options.signal?.removeEventListener("abort", abort);
      options.within?.signal.removeEventListener("abort", abort);
    };
    const fail = (error: unknown): void => {
      done();
      reject(error);
    };
    call.onFail = fail;
    if (options.signal?.aborted || options.within?.signal.aborted) {
      abort();
      return;
    }
    options.signal?.addEventListener("abort", abort, { once: true });
    options.within?.signal.addEventListener("abort", abort, { once: true });
    running.enter(call, call.timeoutMs);
    try {
      const { rich, request } = call;
      const send = (loaded: RichCalls | undefined): ReturnType<Handle> => {
        call.rich = loaded;
        return loaded ? loaded.send(request, call, handle) : handle(request, call);
      };
      const replied = options.upload
        ? import("./call-upload.ts").then((loaded) => loaded.sendWithUpload(call, running, send))
        : rich instanceof Promise
          ? rich.then(send)
          : send(rich);
      const finish = (reply: Reply | undefined): void => {
        done();
        resolve(reply);
      };
      Promise.resolve(replied).then((reply) => {
        // Here rather than where the request is sent, because each call would cost one more promise there.
        if (rich && reply?.attachments) {
          (call.rich as RichCalls).collect(reply, reply.attachments, call).then(finish, fail);
        } else finish(reply);
      }, fail);
    } catch (error) {
      fail(error);
    }
  });
}
