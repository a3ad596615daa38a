import type { Channel } from "callwire/connection";

/** A program's channel, for whoever shows what it says as it says it: its end does not repeat that. */
export function withoutLastWords(channel: Channel): Channel {
  return {
    send: (text) => channel.send(text),
    listen: (listener) =>
      channel.listen({
        message: (text) => listener.message(text),
        fault: (fault) => listener.fault(fault),
        drain: () => listener.drain(),
        end: (error: (Error & { how?: string }) | undefined) =>
          listener.end(error?.how === undefined ? error : new Error(error.how, { cause: error })),
      }),
    get bufferedBytes() {
      return channel.bufferedBytes;
    },
    close: (reason) => channel.close(reason),
  };
}
