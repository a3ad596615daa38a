import type { Version } from "callwire";
import { afterAll, beforeAll, describe } from "vitest";
import { optionsOf, profileNames } from "../../conformance/profiles.ts";
import { runTranscripts, type Send } from "../../conformance/transcript.ts";
import { turn } from "../contract-methods.ts";
import type { Host, RawEnd, Wire } from "./wire.ts";

/** Every transcript, over the wire unchanged. */
export function testTranscripts(wire: Wire): void {
  for (const profile of profileNames) {
    describe("transcripts", () => {
      let host: Host;
      let send: Send;
      beforeAll(async () => {
        host = await wire.start({ profile });
        send = host.exchange?.bind(host) ?? sender(host, optionsOf(profile).versions?.[0]);
      });
      afterAll(() => host.kill());
      runTranscripts((text, isDue) => send(text, isDue), profile, { except: wire.except ?? [] });
    });
  }
}

/** How many unreadable messages a connection survives. */
const patience = 8;

/** Pairs payloads with their answers on a wire that does not. */
function sender(host: Host, version: Version = "2.0"): Send {
  let raw: RawEnd | undefined;
  let faults = 0;
  let marks = 0;

  /** Everything that arrives until a request that is sent now has been answered. */
  async function heard(end: RawEnd): Promise<string[]> {
    const mark = `m${++marks}`;
    // In a version that the server speaks, or a gateway answers it before what it has forwarded.
    const members = version === "2.0" ? '"jsonrpc":"2.0"' : '"params":[]';
    end.send(`{${members},"method":"no such method","id":"${mark}"}`);
    const texts: string[] = [];
    for (;;) {
      const text = await end.inbox.next();
      if (text === undefined || isReplyTo(mark, text)) return texts;
      texts.push(text);
    }
  }

  return async (text, isDue) => {
    if (raw === undefined || raw.inbox.ended || faults >= patience) {
      raw?.kill();
      raw = await host.raw?.();
      faults = 0;
    }
    if (raw === undefined) throw new TypeError("a wire needs raw() or exchange()");
    raw.send(text);
    const answers = await heard(raw);
    // A handler that returns a promise answers after a later request.
    for (let i = 0; i < 3 || (isDue && answers.length === 0 && !raw.inbox.ended); i++) {
      await turn();
      answers.push(...(await heard(raw)));
    }
    if (answers.length > 1) throw new Error(`${answers.length} answers came: ${answers.join(" ")}`);
    const [answer] = answers;
    if (answer?.includes("-32700") || raw.inbox.ended) faults++;
    return answer;
  };
}

function isReplyTo(mark: string, text: string): boolean {
  const message: unknown = JSON.parse(text);
  return (
    typeof message === "object" && message !== null && (message as { id?: unknown }).id === mark
  );
}
