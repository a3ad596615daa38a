import type {
  ConformanceCase,
  ConformanceExchange,
  ConformanceGroup,
  ConformanceLevel,
  Expectation,
  ReplyPattern,
  Text,
  WireAbility,
} from "./case.ts";

/** A method that no server has. */
export const absentMethod = "conformance.absent";

/** A 2.0 request as JSON, by default for a method that does not exist. */
export function request(members: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ jsonrpc: "2.0", method: absentMethod, ...members });
}

export function ask(text: Text, expect: Expectation): ConformanceExchange {
  return { send: { kind: "message", text }, expect };
}

/** An HTTP POST; a header whose value is null is not sent. */
export function post(
  headers: Readonly<Record<string, string | null>>,
  body: string,
  expect: Expectation,
): ConformanceExchange {
  return { send: { kind: "request", verb: "POST", headers, body }, expect };
}

/** A call with bytes that are not UTF-8. */
export function askInvalidUtf8(): ConformanceExchange {
  const text = '{"jsonrpc":"2.0","method":"x\xff\xfe","id":1}';
  return { send: { kind: "message", bytes: true, text }, expect: unaccepted };
}

/** How much a case weighs, and which sentence of which specification it checks. */
interface Basis {
  readonly level: ConformanceLevel;
  readonly says: string;
  readonly section: string;
}

export function must(section: string, says: string): Basis {
  return { level: "MUST", section, says };
}

export function should(section: string, says: string): Basis {
  return { level: "SHOULD", section, says };
}

export function hygiene(says: string, section = "beyond JSON-RPC 2.0"): Basis {
  return { level: "hygiene", section, says };
}

/** Makes the cases of one group, for wires with these abilities; their ids begin with the group's name. */
export function writerOf(group: ConformanceGroup, ...needs: readonly WireAbility[]) {
  return (
    name: string,
    title: string,
    { level, says, section }: Basis,
    exchanges: ConformanceExchange | readonly ConformanceExchange[],
  ): ConformanceCase => ({
    id: `${group}/${name}`,
    group,
    level,
    title,
    says,
    section,
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

/** An error with one of these codes and one of these ids, written as JSON. */
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

/** A refusal; a "method not found" error would mean that the call was accepted. */
export const unaccepted: Expectation = { kind: "refusal", except: [notFound] };
