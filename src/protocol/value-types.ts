import { base64, fromBase64 } from "./base64.ts";
import { isoTime } from "./iso-time.ts";

/**
 * A type of values that JSON cannot express, for clients with `values: "rich"` and their servers; both need the same.
 * @example
 * ```ts
 * import { createServer, type ValueType } from "callwire";
 *
 * class Money {
 *   readonly cents: number;
 *   constructor(cents: number) {
 *     this.cents = cents;
 *   }
 * }
 * const money: ValueType<Money> = {
 *   name: "money",
 *   test: (value): value is Money => value instanceof Money,
 *   toJson: ({ cents }) => cents,
 *   fromJson: (json) => new Money(Number(json)),
 * };
 * const shop = createServer({ price: () => new Money(499) }, { types: [money] });
 * ```
 */
export interface ValueType<T = unknown> {
  /** The name on the wire. */
  readonly name: string;
  /** Whether a value is of this type. Called with every object in the values that are sent. */
  test(value: object): value is T & object;
  /** What is sent in its place: natural JSON, in which other rich values may be nested. */
  toJson(value: T): unknown;
  /** Makes a value of what `toJson` returned. Throws if the peer sent anything else. */
  fromJson(json: unknown): T;
}

// biome-ignore lint/suspicious/noExplicitAny: an array of types has values of any of them
export type AnyValueType = ValueType<any>;

/** How values of a type travel. */
export type Form = Pick<AnyValueType, "toJson" | "fromJson">;

/** More would take long to parse. */
const mostDigits = 10_000;

const isoDate = /^(?:[+-]\d\d)?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/** The types that every peer knows. */
export const builtIns: Readonly<Record<string, Form>> = {
  date: {
    // Null for an invalid date, as JSON.stringify writes it.
    toJson: (date: Date) => (Number.isNaN(date.getTime()) ? null : isoTime(date.getTime())),
    fromJson(json) {
      if (json === null) return new Date(Number.NaN);
      const ms = typeof json === "string" ? usualTime(json) : undefined;
      if (ms !== undefined) return new Date(ms);
      const date = new Date(matching(json, isoDate));
      must(!Number.isNaN(date.getTime()));
      return date;
    },
  },
  bigint: {
    toJson: String,
    fromJson(json) {
      const digits = matching(json, /^-?\d+$/);
      must(digits.length <= mostDigits);
      return BigInt(digits);
    },
  },
  number: {
    toJson: (value) => (value === 0 ? "-0" : `${value}`),
    fromJson: (json) => Number(matching(json, /^(?:NaN|-?Infinity|-0)$/)),
  },
  undefined: {
    toJson: () => null,
    fromJson: (json) => must(json === null),
  },
  map: {
    toJson: (map: Map<unknown, unknown>) => [...map],
    fromJson(json) {
      must(Array.isArray(json) && json.every((pair) => Array.isArray(pair) && pair.length === 2));
      return new Map(json as [unknown, unknown][]);
    },
  },
  set: {
    toJson: (set: Set<unknown>) => [...set],
    fromJson(json) {
      must(Array.isArray(json));
      return new Set(json as unknown[]);
    },
  },
  url: { toJson: String, fromJson: (json) => new URL(matching(json, /./)) },
  bytes: { toJson: base64, fromJson: (json) => fromBase64(matching(json, /^/)) },
  buffer: {
    toJson: (buffer: ArrayBuffer) => base64(new Uint8Array(buffer)),
    fromJson: (json) => fromBase64(matching(json, /^/)).buffer,
  },
};

/** The name of the built-in type of an object, if it has one. */
export function builtInOf(value: object): string | undefined {
  if (value instanceof Date) return "date";
  if (value instanceof Map) return "map";
  if (value instanceof Set) return "set";
  if (value instanceof URL) return "url";
  if (value instanceof Uint8Array) return "bytes";
  return value instanceof ArrayBuffer ? "buffer" : undefined;
}

/** The codec adds the path and the type to the error. */
export function must(isRight: boolean): void {
  if (!isRight) throw new TypeError("wrong form");
}

function matching(json: unknown, form: RegExp): string {
  must(typeof json === "string" && form.test(json));
  return json as string;
}

const zero = 0x30;
/** What `toISOString` writes for most dates: "2026-11-18T05:00:00.123Z". */
const usualForm = "0000-00-00T00:00:00.000Z";

/** Reads that form faster than `Date` does; undefined for any other, and for days that not every month has. */
function usualTime(text: string): number | undefined {
  if (text.length !== usualForm.length) return undefined;
  for (let i = 0; i < usualForm.length; i++) {
    const form = usualForm.charCodeAt(i);
    const code = text.charCodeAt(i);
    if (form === zero ? !(code >= zero && code <= zero + 9) : code !== form) return undefined;
  }
  const year = digits(text, 0) * 100 + digits(text, 2);
  const month = digits(text, 5);
  const day = digits(text, 8);
  const hour = digits(text, 11);
  const minute = digits(text, 14);
  const second = digits(text, 17);
  const isUsual = year > 99 && month > 0 && month < 13 && day > 0 && day < 29;
  if (!isUsual || hour > 23 || minute > 59 || second > 59) return undefined;
  const ms = digits(text, 20) * 10 + text.charCodeAt(22) - zero;
  return Date.UTC(year, month - 1, day, hour, minute, second, ms);
}

/** Reads two digits as a number. */
function digits(text: string, at: number): number {
  return (text.charCodeAt(at) - zero) * 10 + text.charCodeAt(at + 1) - zero;
}
