import type { Api } from "../client/contract.ts";
import type { UploadOptions } from "../client/outgoing-call.ts";
import type { CallTypes, UploadOf } from "../protocol/contract.ts";
import type { Method, Methods } from "../server/method.ts";

/** Functions instead of some methods, with the params of these; results are those of the handler, or what JSON makes of them. */
export type Mocks<M> = MocksOf<Api<M, "rich">, Api<M>>;

type MocksOf<Rich, Json> = {
  readonly [Name in keyof Rich]?: Rich[Name] extends (...args: infer Args) => infer Outcome
    ? Args extends readonly [unknown, UploadOptions<infer Item>]
      ? Method<CallTypes & { readonly upload: UploadOf<Item> }>
      : (...args: Args) => MockOutcome<Outcome> | MockOutcome<OutcomeIn<Json, Name>>
    : MocksOf<Rich[Name], Name extends keyof Json ? Json[Name] : never>;
};

type OutcomeIn<Tree, Name> = Name extends keyof Tree
  ? Tree[Name] extends (...args: never[]) => infer Outcome
    ? Outcome
    : never
  : never;

type MockOutcome<Outcome> =
  Outcome extends Promise<infer Result>
    ? Result | Promise<Result>
    : Outcome extends AsyncIterable<infer Item>
      ? AsyncGenerator<Item> | Generator<Item>
      : never;

/**
 * Some methods of a server, as functions with the same types: for `testClient`, `mswHandler` and `createServer`. The
 * others do not exist: calls of them fail with -32601, and `error.method` says which. A method with an `upload` is mocked
 * by another `method` or `stream` that has one.
 * @example
 * ```ts
 * import { mock, testClient } from "callwire/testing";
 *
 * const { api } = testClient(mock<typeof methods>({ math: { add: () => 42 } }));
 * console.log(await api.math.add({ a: 2, b: 3 })); // 42
 * ```
 */
export function mock<M extends Methods>(mocks: Mocks<M>): M {
  return mocks as unknown as M;
}
