import type { Channel, ChannelListener } from "callwire/connection";
import { httpFetch } from "./http-fetch.ts";

/** Hears every message that passes a wire, as it stands there. */
export interface Tap {
  sent(text: string): void;
  received(text: string): void;
  /** What the wire says beside the messages, such as an HTTP status. */
  noted(sentence: string): void;
}

/** A channel that tells a tap what passes. */
export function tappedChannel(channel: Channel, tap: Tap): Channel {
  return {
    send(text) {
      tap.sent(text);
      channel.send(text);
    },
    listen(listener: ChannelListener) {
      channel.listen({
        message(text) {
          tap.received(text);
          listener.message(text);
        },
        fault(fault) {
          tap.noted(fault.message);
          listener.fault(fault);
        },
        drain: () => listener.drain(),
        end(error) {
          tap.noted(error?.message ?? "the connection is closed");
          listener.end(error);
        },
      });
    },
    get bufferedBytes() {
      return channel.bufferedBytes;
    },
    close: (reason) => channel.close(reason),
  };
}

/** A `fetch` that tells a tap what passes. */
export function tappedFetch(tap: Tap): (url: string, init: RequestInit) => Promise<Response> {
  return async (url, init) => {
    tap.sent(String(init.body));
    const response = await httpFetch(url, init);
    const type = response.headers.get("content-type");
    tap.noted(`HTTP ${response.status}${type === null ? "" : ` ${type}`}`);
    if (response.body === null) return response;
    const isEvents = type?.startsWith("text/event-stream") === true;
    const body = response.body.pipeThrough(heard(isEvents ? eventReader(tap) : textReader(tap)));
    const { status, headers } = response;
    return new Response(body, { status, headers });
  };
}

interface Reader {
  push(text: string): void;
  end(): void;
}

/** Passes bytes on, so that whoever is slow to read them still holds up the sender. */
function heard(reader: Reader): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  return new TransformStream({
    transform(chunk, controller) {
      reader.push(decoder.decode(chunk, { stream: true }));
      controller.enqueue(chunk);
    },
    flush: () => reader.end(),
  });
}

function textReader(tap: Tap): Reader {
  let whole = "";
  return {
    push(text) {
      whole += text;
    },
    end() {
      if (whole !== "") tap.received(whole);
    },
  };
}

/** Tells of the data of each event. */
function eventReader(tap: Tap): Reader {
  let rest = "";
  return {
    push(text) {
      const lines = (rest + text).split(/\r?\n/);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line.startsWith("data:")) tap.received(line.slice(5).trimStart());
      }
    },
    end() {},
  };
}
