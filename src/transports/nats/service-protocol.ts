import type { ErrorObject } from "../../protocol/message.ts";
import type { Subscription } from "./client-library.ts";
import type { Mailbox } from "./mailbox.ts";

/** So much of an error is told; callers may have a part in how long it is. */
const mostOfError = 256;

/** What one subject has done so far, in the words of NATS's service protocol. */
export class EndpointStats {
  readonly name: string;
  readonly subject: string;
  readonly queue: string;
  #requests = 0;
  #errors = 0;
  #lastError = "";
  #processingMs = 0;

  constructor(name: string, subject: string, queue: string) {
    this.name = name;
    this.subject = subject;
    this.queue = queue;
  }

  /** Counts a payload that comes in; what is returned is told when it has been answered. */
  begin(): (error?: ErrorObject) => void {
    this.#requests++;
    const began = performance.now();
    return (error) => {
      this.#processingMs += performance.now() - began;
      if (error === undefined) return;
      this.#errors++;
      this.#lastError = `${error.code}:${error.message}`.slice(0, mostOfError);
    };
  }

  get info(): object {
    return { ...this.#who, metadata: {} };
  }

  get #who(): object {
    return { name: this.name, subject: this.subject, queue_group: this.queue };
  }

  get stats(): object {
    const nanoseconds = Math.round(this.#processingMs * 1e6);
    return {
      ...this.#who,
      num_requests: this.#requests,
      num_errors: this.#errors,
      last_error: this.#lastError,
      processing_time: nanoseconds,
      average_processing_time: this.#requests === 0 ? 0 : Math.round(nanoseconds / this.#requests),
    };
  }
}

export interface ServiceIdentity {
  readonly name: string;
  readonly id: string;
  readonly version: string;
  readonly description: string;
}

/** Answers `$SRV.PING`, `INFO` and `STATS`, so that `nats micro` finds a worker and sees how it does. */
export function announce(
  mailbox: Mailbox,
  identity: ServiceIdentity,
  endpoints: () => readonly EndpointStats[],
): Subscription[] {
  const { name, id, version, description } = identity;
  const who = { name, id, version, metadata: {} };
  const started = new Date().toISOString();
  const answers = {
    PING: () => ({ type: "io.nats.micro.v1.ping_response", ...who }),
    INFO: () => ({
      type: "io.nats.micro.v1.info_response",
      ...who,
      description,
      endpoints: endpoints().map(({ info }) => info),
    }),
    STATS: () => ({
      type: "io.nats.micro.v1.stats_response",
      ...who,
      started,
      endpoints: endpoints().map(({ stats }) => stats),
    }),
  };
  return Object.entries(answers).flatMap(([verb, answer]) =>
    [`$SRV.${verb}`, `$SRV.${verb}.${name}`, `$SRV.${verb}.${name}.${id}`].map((subject) =>
      mailbox.listen(subject, (_, reply) => respond(mailbox, reply, answer())),
    ),
  );
}

/** Without its endpoints where NATS does not take so long an answer. */
function respond(mailbox: Mailbox, reply: string, answer: object): void {
  if (reply === "") return;
  const whole = JSON.stringify(answer);
  const said = mailbox.fits(whole) ? whole : JSON.stringify({ ...answer, endpoints: [] });
  mailbox.tell(reply, said);
}
