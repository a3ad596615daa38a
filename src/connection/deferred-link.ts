import { WireError } from "../protocol/errors.ts";
import { carriesAny, type Link, type Outgoing } from "../protocol/link.ts";
import { plainLog } from "../protocol/log.ts";
import type { Reply, Request } from "../protocol/message.ts";
import { unlessCancelled } from "./cancelled-wait.ts";
import { ChangingStates } from "./link-states.ts";

/** A link whose code is loaded with its first call, so that pages start without it. */
export class DeferredLink implements Link {
  readonly states = new ChangingStates(plainLog);
  readonly address: string | undefined;
  readonly #load: () => Promise<Link>;
  #loading: Promise<Link> | undefined;
  #link: Link | undefined;
  readonly carriesBytes = async (): Promise<boolean> => carriesAny(await this.#loaded());

  constructor(load: () => Promise<Link>, address?: string) {
    this.#load = load;
    this.address = address;
  }

  send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    return (
      this.#link?.send(request, outgoing) ??
      unlessCancelled(this.#loaded(), outgoing).then((link) => link.send(request, outgoing))
    );
  }

  sendBatch(
    requests: readonly Request[],
    outgoing: readonly Outgoing[],
  ): readonly Promise<Reply | undefined>[] {
    if (this.#link !== undefined) return this.#link.sendBatch(requests, outgoing);
    const left = new Set<Outgoing>();
    const sent = this.#loaded().then((link) => {
      const kept = outgoing.filter((call) => !left.has(call));
      const wanted = requests.filter((_, i) => !left.has(outgoing[i] as Outgoing));
      const replies = wanted.length === 0 ? [] : link.sendBatch(wanted, kept);
      return new Map(kept.map((call, i) => [call, replies[i]]));
    });
    return outgoing.map(async (own) => {
      const replies = await unlessCancelled(sent, own, () => left.add(own));
      return replies.get(own);
    });
  }

  async close(): Promise<void> {
    this.states.set("closed");
    const link = this.#link ?? (await this.#loading?.catch(() => undefined));
    await link?.close();
  }

  async #loaded(): Promise<Link> {
    try {
      this.#mustBeOpen();
      this.states.set("connecting");
      this.#loading ??= this.#load();
      const link = await this.#loading;
      this.#mustBeOpen();
      if (this.#link === undefined) {
        link.states?.listen((state) => this.states.set(state));
        this.#link = link;
      }
      return link;
    } catch (error) {
      // The next call loads it again: the page may have been offline.
      this.#loading = undefined;
      this.states.set("idle");
      throw error;
    }
  }

  #mustBeOpen(): void {
    if (this.states.now === "closed") throw new WireError("CLOSED", "the link is closed");
  }
}
