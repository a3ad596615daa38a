/** Pages under test whose calls MSW answers, with mswHandler. */
import { createClient, method, RpcError, stream } from "callwire";
import { httpLink } from "callwire/http";
import { mock, mswHandler } from "callwire/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { describeWith } from "../services.ts";

const methods = {
  who: method({}, (_, call) => call.principal?.id),
  tasks: {
    get: method(
      {
        params: z.object({ id: z.string() }),
        result: z.string(),
        errors: { GONE: { code: 1404 } },
      },
      (_, __, errors) => {
        throw errors.GONE();
      },
    ),
    watch: stream({ item: z.string() }, function* () {
      yield "real";
    }),
  },
};

describeWith(["npm peers"], "MSW", () => {
  function page(answer: ReturnType<typeof mswHandler>) {
    const server = setupServer(http.post("*/rpc", answer));
    server.listen({ onUnhandledRequest: "error" });
    onTestFinished(() => server.close());
    return createClient<typeof methods>(httpLink("/rpc", { baseUrl: "https://app.example.com/" }));
  }

  test("answers calls, errors and streams with mocks", async () => {
    const { api } = page(
      mswHandler(
        mock<typeof methods>({
          tasks: {
            get({ id }) {
              if (id === "1") return "mocked";
              throw new RpcError(1404, "Gone");
            },
            *watch() {
              yield "first";
              yield "second";
            },
          },
        }),
      ),
    );
    expect(await api.tasks.get({ id: "1" })).toBe("mocked");
    await expect(api.tasks.get({ id: "2" })).rejects.toMatchObject({ code: 1404 });
    const seen: string[] = [];
    for await (const item of api.tasks.watch()) seen.push(item);
    expect(seen).toEqual(["first", "second"]);
    await expect(api.who()).rejects.toMatchObject({ code: -32601 });
  });

  test("answers calls with real methods and a principal", async () => {
    const { api } = page(mswHandler(methods, { principal: { id: "ann" } }));
    expect(await api.who()).toBe("ann");
    await expect(api.tasks.get({ id: "1" })).rejects.toMatchObject({ code: 1404 });
  });
});
