import { RecentMethod } from "./recent-method.ts";

const space = 0x20;

/** What is around the values of a message. */
export interface Form {
  readonly hasSpaces: boolean;
  readonly opening: readonly number[];
  readonly methodKey: readonly number[];
  readonly idKey: readonly number[];
  readonly resultKey: readonly number[];
  readonly nextMethodKey: readonly number[];
  readonly nextParamsKey: readonly number[];
  readonly nextIdKey: readonly number[];
  /** Written by clients that accept rich values, if the params have none. */
  readonly emptyTypes: string;
  /** For searches, which need strings. */
  readonly nextId: string;
  readonly nextMessage: string;
  readonly recent: RecentMethod;
}

/** As `JSON.stringify` writes it. */
const compact = formWith("");
/** As Python's `json.dumps` writes it. */
const spaced = formWith(" ");

/** The form with this after each colon and each comma. */
function formWith(gap: string): Form {
  const written = (part: string): string => part.replaceAll(/[:,]/g, `$&${gap}`);
  const codes = (part: string): readonly number[] =>
    Array.from(written(part), (character) => character.charCodeAt(0));
  return {
    hasSpaces: gap !== "",
    opening: codes('{"jsonrpc":"2.0","'),
    methodKey: codes('method":'),
    idKey: codes('id":'),
    resultKey: codes('result":'),
    nextMethodKey: codes(',"method":'),
    nextParamsKey: codes(',"params":'),
    nextIdKey: codes(',"id":'),
    emptyTypes: written(',"types":{}}'),
    nextId: written(',"id":'),
    nextMessage: written(',{"jsonrpc":"2.0","'),
    recent: new RecentMethod(written),
  };
}

/** The form of a message that starts there, by the character after its first colon. */
export function formAt(text: string, start: number): Form {
  return text.charCodeAt(start + 11) === space ? spaced : compact;
}

/** Where the token after the separator at `at` starts; -1 if that is not written in this form. */
export function after(text: string, at: number, { hasSpaces }: Form): number {
  if (!hasSpaces) return at + 1;
  return text.charCodeAt(at + 1) === space ? at + 2 : -1;
}

/** A loop over char codes, because `startsWith` takes eight times as long. */
export function standsAt(text: string, part: readonly number[], at: number): boolean {
  for (let i = 0; i < part.length; i++) {
    if (text.charCodeAt(at + i) !== part[i]) return false;
  }
  return true;
}
