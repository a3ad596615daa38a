import { WireError } from "../protocol/errors.ts";
import { GatheredCalls } from "../protocol/gathered-calls.ts";
import { carriesAny, type Link, type Outgoing } from "../protocol/link.ts";
import { plainLog } from "../protocol/log.ts";
import type { Reply, Request } from "../protocol/message.ts";
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
    if (this.#link !== undefined) return this.#link.send(request, outgoing);
    const call = new GatheredCalls();
    const reply = call.add(request, outgoing);
    this.#sendLater(call, true);
    return reply;
  }

  sendBatch(
    requests: readonly Request[],
    outgoing: readonly Outgoing[],
  ): readonly Promise<Reply | undefined>[] {
    if (this.#link !== undefined) return this.#link.sendBatch(requests, outgoing);
    const calls = new GatheredCalls();
    const replies = requests.map((request, i) => calls.add(request, outgoing[i] as Outgoing));
    this.#sendLater(calls, false);
    return replies;
  }

  async close(): Promise<void> {
    this.states.set("closed");
    const link = this.#link ?? (await this.#loading?.catch(() => undefined));
    await link?.close();
  }

  /** Sends calls once the link is loaded, unless their callers cancel. */
  #sendLater(calls: GatheredCalls, alone: boolean): void {
    this.#loaded().then(
      (link) => calls.send(link, alone),
      (error: unknown) => calls.fail(error),
    );
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
