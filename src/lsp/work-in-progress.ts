import type { Peer } from "../protocol/origin.ts";
import type { WorkDoneProgressBegin, WorkDoneProgressReport } from "./model/structures.ts";

/** Work whose progress the client shows; created by `client.beginProgress`. */
export class WorkInProgress {
  readonly #peer: Peer | undefined;
  readonly #token: string;
  readonly #ended: () => void;
  readonly #controller = new AbortController();
  #isOver = false;

  /** Without a peer nothing is shown. */
  constructor(peer: Peer | undefined, token: string, ended: () => void) {
    this.#peer = peer;
    this.#token = token;
    this.#ended = ended;
  }

  /** Aborts when the user cancels the work, which is possible only with `cancellable: true`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  report(report: Omit<WorkDoneProgressReport, "kind">): void {
    if (!this.#isOver) this.#send({ kind: "report", ...report });
  }

  /** Removes what the client shows; the message may be shown for a moment. */
  end(message?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#send({ kind: "end", ...(message !== undefined && { message }) });
    this.#ended();
  }

  /** Internal. */
  begin(begin: Omit<WorkDoneProgressBegin, "kind">): void {
    this.#send({ kind: "begin", ...begin });
  }

  /** Internal. */
  cancel(): void {
    this.#controller.abort();
  }

  #send(value: object): void {
    this.#peer?.notify("$/progress", { token: this.#token, value });
  }
}
