/** A connection with replies that were not sent yet. */
export interface Sender {
  sendReplies(): void;
}

/**
 * Sends the replies of one turn of the event loop together, when all requests that arrived in it were read. A client
 * that is woken by each single reply takes more of the server's time than the reply itself.
 */
export class Outbox {
  #waiting: Sender[] = [];
  readonly #send = (): void => this.#sendAll();

  add(sender: Sender): void {
    if (this.#waiting.length === 0) setImmediate(this.#send);
    this.#waiting.push(sender);
  }

  #sendAll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const sender of waiting) sender.sendReplies();
  }
}
