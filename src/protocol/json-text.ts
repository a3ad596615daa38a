/** The placeholder for a string that is not JSON. */
export const unparsable: unique symbol = Symbol("unparsable");

/** The parsed value, or `unparsable`. */
export function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return unparsable;
  }
}

/** The parsed value; undefined if the string is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
