import { WireError } from "../protocol/errors.ts";
import type { Handle } from "../protocol/handle.ts";
import type { Reply } from "../protocol/message.ts";
import type { Running } from "../protocol/running.ts";
import { UploadSender } from "../protocol/upload-sender.ts";
import type { OutgoingCall } from "./outgoing-call.ts";
import type { RichCalls } from "./rich-calls.ts";

/** Sends a call that uploads. Clients load this file when they need it, so that other pages do without it. */
export async function sendWithUpload(
  call: OutgoingCall,
  running: Running,
  send: (rich: RichCalls | undefined) => ReturnType<Handle>,
): Promise<Reply | undefined> {
  const rich = await call.rich;
  call.upload = uploadOf(call, running, rich);
  (call.request as { upload?: true }).upload = true;
  if (!call.failed) return send(rich);
  // It failed while this was loaded.
  call.upload.stop();
  return undefined;
}

function uploadOf(call: OutgoingCall, running: Running, rich: RichCalls | undefined): UploadSender {
  const { method, timeoutMs, request } = call;
  return new UploadSender(call.options.upload ?? [], {
    members: (item, signal) => rich?.members(item, signal) ?? { value: item },
    fail(cause) {
      const why = cause instanceof Error ? cause.message : `${cause}`;
      call.fail(new WireError("ABORTED", `the upload of ${method} failed: ${why}`, { cause }));
    },
    /** The default timeout only counts while the client waits for the server: a source may be slow. */
    waitsForSource(waits) {
      if (request.timeoutMs !== undefined || call.read || call.failed) return;
      call.dueAt = undefined;
      if (!waits) running.schedule(call, timeoutMs);
    },
  });
}
