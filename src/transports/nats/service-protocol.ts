import type { ErrorObject } from "../../protocol/message.ts";
import type { Subscription } from "./client-library.ts";
import type { Mailbox } from "./mailbox.ts";

/** While more than this waits for nats-server, questions are not answered. */
const mostBuffered = 1024 * 1024;
/** Longest error shown; callers may influence its length. */
const longestError = 256;

/** Counts the requests at one subject, for NATS's service protocol. */
export class EndpointStats {
  readonly #info: { name: string; subject: string; queue_group: string };
  #requests = 0;
  #errors = 0;
  #lastError = "";
  #processingMs = 0;

  constructor(name: string, subject: string, queue: string) {
    this.#info = { name, subject, queue_group: queue };
  }

  /** Counts a payload; the returned function is called when it has been answered. */
  begin(): (error?: ErrorObject) => void {
    this.#requests++;
    const began = performance.now();
    return (error) => {
      this.#processingMs += performance.now() - began;
      if (error === undefined) return;
      this.#errors++;
      this.#lastError = `${error.code}:${error.message}`.slice(0, longestError);
    };
  }

  get info(): object {
    return { ...this.#info, metadata: {} };
  }

  get stats(): object {
    const nanoseconds = Math.round(this.#processingMs * 1e6);
    return {
      ...this.#info,
      num_requests: this.#requests,
      num_errors: this.#errors,
      last_error: this.#lastError,
      processing_time: nanoseconds,
      average_processing_time: this.#requests === 0 ? 0 : Math.round(nanoseconds / this.#requests),
    };
  }
}

/** Answers `$SRV.PING`, `INFO` and `STATS`, so that `nats micro` finds a worker and shows its statistics. */
export function announce(
  mailbox: Mailbox,
  { name, id, version, description }: Record<"name" | "id" | "version" | "description", string>,
  endpoints: () => readonly EndpointStats[],
): Subscription[] {
  const started = new Date().toISOString();
  const details: Record<string, () => object> = {
    ping: () => ({}),
    info: () => ({ description, endpoints: endpoints().map(({ info }) => info) }),
    stats: () => ({ started, endpoints: endpoints().map(({ stats }) => stats) }),
  };
  return Object.entries(details).flatMap(([verb, detailsOf]) => {
    const answer = { type: `io.nats.micro.v1.${verb}_response`, name, id, version, metadata: {} };
    const subject = `$SRV.${verb.toUpperCase()}`;
    return [subject, `${subject}.${name}`, `${subject}.${name}.${id}`].map((each) =>
      mailbox.listen(each, (_, reply) => {
        // The answer is much longer than the question, which anyone may repeat.
        if (mailbox.bufferedBytes > mostBuffered) return;
        const whole = JSON.stringify({ ...answer, ...detailsOf() });
        // Without the endpoints if the answer is too long for NATS.
        const short = (): string => JSON.stringify({ ...answer, ...detailsOf(), endpoints: [] });
        mailbox.trySend(reply, mailbox.fits(whole) ? whole : short());
      }),
    );
  });
}
