/** A server with the playground, and methods whose output a page must handle. */
import {
  type Context,
  createServer,
  method,
  RpcError,
  type Server,
  silentLog,
  stream,
} from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import * as z from "zod";
import { methods as demo } from "../../examples/demo/methods.ts";
import { ownPort } from "../own-port.ts";

/** Each would set `globalThis.pwned` if it were ever interpreted as markup. */
export const markup = `<img src="x" onerror="globalThis.pwned=1"><script>globalThis.pwned=1</script>`;

function isAda({ transport }: Context): boolean {
  return transport.headers.authorization === "Bearer token-of-ada";
}

export class Site implements AsyncDisposable {
  /** Names of methods whose callers cancelled, in order. */
  readonly abandoned: string[] = [];
  /** Answers the last call of `held`. */
  release: () => void = () => {};
  #server: Server;
  #http: HttpServer | undefined;
  /** The same if it starts again. */
  readonly #port: number;

  static async open(): Promise<Site> {
    const site = new Site(await ownPort());
    await site.start();
    return site;
  }

  private constructor(port: number) {
    this.#port = port;
    this.#server = this.#make();
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    this.#server = this.#make();
    const legacy = createServer(demo, { versions: ["1.0", "2.0"], log: silentLog });
    this.#server.onClose(() => legacy.close());
    this.#http = await serveHttp(this.#server, {
      port: this.#port,
      playground: true,
      mounts: { "/jsonrpc": legacy },
      drainMs: 0,
    });
  }

  async stop(): Promise<void> {
    this.#http?.server.closeAllConnections();
    await this.#server.close({ drainMs: 0 });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #make(): Server {
    return createServer(
      { ...demo, ...this.#methods() },
      { discover: { visible: (name, call) => name !== "hidden" || isAda(call) }, log: silentLog },
    );
  }

  #methods() {
    const until = (call: Context, name: string): Promise<never> =>
      new Promise((_, reject) => {
        call.signal.addEventListener("abort", () => {
          this.abandoned.push(name);
          reject(call.signal.reason);
        });
      });
    const noteEnd = (name: string): void => void this.abandoned.push(name);
    return {
      shapes: {
        draw: method(
          {
            summary: "Draw shapes",
            params: z.object({
              title: z.string().describe("What stands above the drawing"),
              colour: z.enum(["red", "green"]).default("red"),
              filled: z.boolean().optional(),
              shapes: z.array(
                z.union([
                  z.object({ kind: z.literal("circle"), radius: z.number().min(1) }),
                  z.object({
                    kind: z.literal("box"),
                    size: z.object({ width: z.int(), height: z.int() }),
                  }),
                ]),
              ),
            }),
            result: z.unknown(),
          },
          (params) => params,
        ),
      },
      even: method(
        {
          params: z.object({ n: z.number().refine((n) => n % 2 === 0, "only even numbers here") }),
          result: z.number(),
          examples: [{ params: { n: 1 } }],
        },
        ({ n }) => n,
      ),
      forever: stream({ summary: "Count without end", item: z.int() }, async function* () {
        try {
          for (let n = 0; ; n++) {
            yield n;
            await new Promise((resolve) => setTimeout(resolve, 5));
          }
        } finally {
          noteEnd("forever");
        }
      }),
      bulky: stream({ summary: "Give long items" }, function* () {
        for (let n = 0; n < 20; n++) yield n === 0 ? "text" : { n, text: "long ".repeat(100_000) };
      }),
      held: method({ summary: "Answer when the test says so" }, (_: unknown, call: Context) => {
        call.progress({ percent: 50 });
        return new Promise<string>((resolve) => {
          this.release = () => resolve("released");
        });
      }),
      hang: method({ summary: "Never answer" }, (_: unknown, call: Context) => until(call, "hang")),
      flood: method(
        {
          params: z.object({ count: z.int() }),
          result: z.int(),
          examples: [{ params: { count: 10_000 } }],
        },
        async ({ count }, call) => {
          for (let n = 0; n < count; n++) {
            call.peer.notify("flooded", { n, text: "a message of some length, as messages are" });
            if (n % 500 === 499) await new Promise((resolve) => setImmediate(resolve));
          }
          return count;
        },
      ),
      hidden: method({ summary: "Only for Ada" }, () => null),
      old: method({ summary: "Gone soon", deprecated: true }, () => null),
      whoami: method(
        { summary: "Say how the caller showed who it is" },
        (_: unknown, call: Context) => call.transport.headers.authorization ?? null,
      ),
      login: method(
        {
          params: z.object({ user: z.string(), password: z.string() }),
          result: z.boolean(),
          examples: [{ params: { user: "ada", password: "" } }],
        },
        () => true,
      ),
      [markup]: method(
        {
          summary: markup,
          description: markup,
          params: z.object({ [markup]: z.enum([markup, "other"]).describe(markup) }),
          tags: [markup],
          errors: { BAD: { code: 1, message: markup } },
          examples: [{ name: markup, params: { [markup]: markup }, result: markup }],
        },
        (_, call) => {
          call.peer.notify(markup, { [markup]: markup });
          return { [markup]: markup };
        },
      ),
      fails: method({ summary: markup }, () => {
        throw new RpcError(7, markup, { [markup]: markup });
      }),
      items: stream({ summary: markup }, function* () {
        yield markup;
        yield { [markup]: markup };
      }),
    };
  }
}
