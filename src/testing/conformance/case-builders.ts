import type {
  ConformanceCase,
  ConformanceExchange,
  ConformanceGroup,
  ConformanceLevel,
  Expectation,
  ReplyPattern,
  Text,
} from "./case.ts";

/** What the list of cases is written with; each gives plain data. */

/** No server has this method. */
export const absentMethod = "conformance.absent";

/** The text of a 2.0 request; unless the members say otherwise, of a method that does not exist. */
export function request(members: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ jsonrpc: "2.0", method: absentMethod, ...members });
}

export function ask(text: Text, expect: Expectation): ConformanceExchange {
  return { send: { kind: "message", text }, expect };
}

/** What a case has in common with its neighbours. */
interface Basis {
  readonly level: ConformanceLevel;
  readonly says: string;
  readonly section: string;
}

/** Makes the cases of one group; their ids begin with its name. */
export function writerOf(group: ConformanceGroup) {
  return (
    name: string,
    title: string,
    basis: Basis,
    exchanges: ConformanceExchange | readonly ConformanceExchange[],
    needs: ConformanceCase["needs"] = [],
  ): ConformanceCase => ({
    id: `${group}/${name}`,
    group,
    level: basis.level,
    title,
    says: basis.says,
    section: basis.section,
    ...(needs.length === 0 ? undefined : { needs }),
    exchanges: "send" in exchanges ? [exchanges] : exchanges,
  });
}

export function failing(
  codes: number | readonly number[],
  ...ids: readonly string[]
): ReplyPattern {
  return { ids, codes: typeof codes === "number" ? [codes] : codes };
}

export function resulting(result: string, id: string): ReplyPattern {
  return { ids: [id], result };
}

/** An error with one of these codes, and one of these ids as JSON has them. */
export function error(codes: number | readonly number[], ...ids: readonly string[]): Expectation {
  return { kind: "reply", reply: failing(codes, ...ids) };
}

export function result(value: string, id: string): Expectation {
  return { kind: "reply", reply: resulting(value, id) };
}

export function batch(...replies: readonly ReplyPattern[]): Expectation {
  return { kind: "batch", replies };
}

export function oneOf(...of: readonly Expectation[]): Expectation {
  return { kind: "one-of", of };
}

export const nothing: Expectation = { kind: "nothing" };
export const refusal: Expectation = { kind: "refusal" };
export const settled: Expectation = { kind: "settled" };

export const parseError = -32700;
export const invalidRequest = -32600;
export const notFound = -32601;
export const invalidParams = -32602;
