import { longLength } from "../protocol/memory-bounds.ts";
import { streamOf } from "../protocol/sent-bytes.ts";
import { BodyBytes, countedFromBytes } from "./body-bytes.ts";
import { chunksOf, type HeaderRecord } from "./client-exchange.ts";
import { type Coding, codingOf } from "./content-coding.ts";
import type { EventSink } from "./event-peer.ts";
import { compressedStream, fetchCodings, inflatedChunks } from "./fetch-codings.ts";
import { StreamSink } from "./fetch-event-sink.ts";
import { FetchHead } from "./fetch-head.ts";
import type { BodyFault, BodyReader, HttpMessage, MessageLimits } from "./http-message.ts";
import { type ByteSource, sourceOf } from "./multipart-reader.ts";
import { UnreadBody } from "./unread-body.ts";
import type { UploadBody } from "./upload-body.ts";

const jsonHeaders = { "content-type": "application/json" };
const jsonReply: ResponseInit = { headers: jsonHeaders };

/** What the server function of a `fetch` runtime returns. */
export interface Responder {
  resolve(response: Response): void;
  reject(error: unknown): void;
}

/** One request of a runtime whose servers are functions from `Request` to `Response`. */
export class FetchMessage implements HttpMessage {
  readonly head: FetchHead;
  readonly codings = fetchCodings;
  /** A `CompressionStream` cannot be told when to send. */
  readonly compressesEvents = false;
  readonly connection = undefined;
  readonly certificate = undefined;
  isAnswered = false;
  #headers: Record<string, string> | undefined = undefined;
  readonly #request: Request;
  readonly #limits: MessageLimits;
  readonly #responder: Responder;
  readonly #address: (() => string | undefined) | undefined;

  constructor(
    request: Request,
    limits: MessageLimits,
    responder: Responder,
    address: (() => string | undefined) | undefined,
  ) {
    this.head = new FetchHead(request);
    this.#request = request;
    this.#limits = limits;
    this.#responder = responder;
    this.#address = address;
  }

  get url(): string {
    return this.#request.url;
  }

  get headers(): Record<string, string> {
    this.#headers ??= Object.fromEntries(this.#request.headers);
    return this.#headers;
  }

  get target(): string {
    const { pathname, search } = new URL(this.#request.url);
    return pathname + search;
  }

  get remoteAddress(): string | undefined {
    return this.#address?.();
  }

  get isGone(): boolean {
    return this.#request.signal.aborted;
  }

  read(reader: BodyReader): void {
    this.#read(reader).catch((error: unknown) => this.#responder.reject(error));
  }

  async #read(reader: BodyReader): Promise<void> {
    if (this.#request.bodyUsed) {
      reader.failed("consumed");
      return;
    }
    const coding = codingOf(this.head.contentEncoding);
    if (coding !== undefined && !this.codings.includes(coding as Coding)) {
      reader.failed("encoded");
      return;
    }
    let fault: BodyFault | undefined;
    let stop = (): void => {};
    // A client that sends nothing more is answered too.
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    const fail = (found: BodyFault): void => {
      fault = found;
      stop();
    };
    const body = new BodyBytes(this.#limits, fail);
    const sent = coding === undefined ? undefined : new BodyBytes(this.#limits, fail);
    try {
      await Promise.race([this.#readInto(body, sent), stopped]);
    } catch {
      // The client left in the middle of its body, or it cannot be inflated.
      fault ??= "unreadable";
    }
    body.discard();
    sent?.discard();
    if (fault === undefined) {
      const text = body.takeText();
      reader.received(text, sent === undefined ? text : sent.takeBytes());
    } else reader.failed(fault);
  }

  async #readInto(body: BodyBytes, sent: BodyBytes | undefined): Promise<void> {
    if (sent === undefined && Number(this.head.contentLength) < countedFromBytes) {
      body.add(new Uint8Array(await this.#request.arrayBuffer()), true);
      return;
    }
    const { body: stream } = this.#request;
    for await (const chunk of sent ? inflatedChunks(stream, sent) : chunksOf(stream)) {
      body.add(chunk, false);
      if (body.hasFailed || sent?.hasFailed) return;
    }
  }

  readLines(body: UploadBody): void {
    void this.#readLines(body);
  }

  async #readLines(body: UploadBody): Promise<void> {
    if (this.#request.bodyUsed) {
      body.fail("consumed");
      return;
    }
    this.#request.signal.addEventListener("abort", () => body.stop(), { once: true });
    try {
      for await (const chunk of chunksOf(this.#request.body)) {
        await body.push(chunk);
        if (body.isOver) return;
      }
      body.end();
    } catch {
      // The client left in the middle of its body.
      body.fail("unreadable");
    }
  }

  openBody(): ByteSource | BodyFault {
    if (this.#request.bodyUsed) return "consumed";
    if (codingOf(this.head.contentEncoding) !== undefined) return "encoded";
    return sourceOf(this.#request.body);
  }

  /** The runtime decides how long a request may take. */
  allowLateBody(): void {}

  sendStream(
    status: number,
    bytes: ReadableStream<Uint8Array>,
    headers: HeaderRecord,
    held: number,
  ): void {
    this.#answer(new Response(this.#counted(bytes, held), { status, headers }));
  }

  inTurn(run: () => void): void {
    run();
  }

  send(status: number, text: string, headers: HeaderRecord | undefined, coding?: Coding): void {
    if (coding !== undefined) {
      // Without `encodeBody`, Workers would compress what is compressed.
      const init = { status, headers: { ...jsonHeaders, ...headers }, encodeBody: "manual" };
      this.#answer(new Response(this.#counted(compressedStream(text), text.length), init));
      return;
    }
    if (text.length > longLength) {
      const bytes = new TextEncoder().encode(text);
      const own = { ...jsonHeaders, "content-length": `${bytes.length}`, ...headers };
      this.sendStream(status, streamOf(bytes), own, bytes.length);
      return;
    }
    const isPlain = headers === undefined && status === 200;
    const response =
      text === ""
        ? new Response(null, { status, headers: headers ?? {} })
        : new Response(
            text,
            isPlain ? jsonReply : { status, headers: { ...jsonHeaders, ...headers } },
          );
    this.#answer(response);
  }

  sendEarly(status: number, text: string, headers: HeaderRecord | undefined): void {
    this.send(status, text, headers);
  }

  openEvents(headers: HeaderRecord, closed: (sink: EventSink) => void): EventSink | undefined {
    const { signal } = this.#request;
    const sink = new StreamSink(signal, this.#limits, closed);
    this.#answer(new Response(sink.body, { headers }));
    return signal.aborted ? undefined : sink;
  }

  onClose(run: () => void): void {
    const { signal } = this.#request;
    if (signal.aborted) run();
    else signal.addEventListener("abort", run, { once: true });
  }

  offClose(run: () => void): void {
    this.#request.signal.removeEventListener("abort", run);
  }

  #counted(bytes: ReadableStream<Uint8Array>, held: number): ReadableStream<Uint8Array> {
    return new UnreadBody(bytes, held, this.#limits, this.#request.signal).body;
  }

  #answer(response: Response): void {
    this.isAnswered = true;
    this.#responder.resolve(response);
  }
}
