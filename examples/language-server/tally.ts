/** Tally, a language of sums: each line is `name = 2 * other + 1`, a comment after `#`, or empty. */

export interface Token {
  readonly kind: "name" | "number" | "operator" | "unknown";
  readonly text: string;
  /** Offset in the line. */
  readonly start: number;
}

/** A line that defines a name. */
export interface Sum {
  readonly line: number;
  readonly name: Token;
  /** The tokens behind the equals sign. */
  readonly terms: readonly Token[];
}

export interface Problem {
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly message: string;
}

export interface Program {
  readonly lines: readonly (readonly Token[])[];
  readonly sums: ReadonlyMap<string, Sum>;
  readonly problems: readonly Problem[];
  /** The value of each name that has one. */
  readonly values: ReadonlyMap<string, number>;
}

const pattern =
  /(?<name>[\p{L}_][\p{L}\p{N}_]*)|(?<number>\d+(?:\.\d+)?)|(?<operator>[=+*/-])|(?<unknown>\S)/gu;

export function parse(text: string): Program {
  const lines = text.split(/\r\n|\r|\n/).map(tokensOf);
  const sums = new Map<string, Sum>();
  const values = new Map<string, number>();
  const problems: Problem[] = [];
  const report = (line: number, { start, text }: Token, message: string): void => {
    problems.push({ line, start, end: start + text.length, message });
  };
  for (const [line, tokens] of lines.entries()) {
    const [name, equals, ...terms] = tokens;
    if (name === undefined) continue;
    if (name.kind !== "name" || equals?.text !== "=") {
      report(line, name, "A line must be a sum: name = 2 + 3");
      continue;
    }
    if (sums.has(name.text)) report(line, name, `${name.text} is defined twice`);
    const value = resultOf(terms, values, (token, message) =>
      report(line, token ?? equals, message),
    );
    sums.set(name.text, { line, name, terms });
    if (value !== undefined) values.set(name.text, value);
  }
  return { lines, sums, problems, values };
}

/** The text with one space between tokens, and comments as they are. */
export function formatted(line: string): string {
  const hash = line.indexOf("#");
  const comment = hash < 0 ? "" : line.slice(hash).trimEnd();
  const code = tokensOf(line)
    .map((token) => token.text)
    .join(" ");
  return [code, comment].filter((part) => part !== "").join(" ");
}

function tokensOf(line: string): Token[] {
  const [code = ""] = line.split("#");
  return Array.from(code.matchAll(pattern), ({ 0: text, index, groups = {} }) => {
    const kinds = ["name", "number", "operator"] as const;
    return {
      kind: kinds.find((kind) => groups[kind] !== undefined) ?? "unknown",
      text,
      start: index,
    };
  });
}

/** Adds and multiplies; undefined if there is a problem. */
function resultOf(
  terms: readonly Token[],
  values: ReadonlyMap<string, number>,
  report: (token: Token | undefined, message: string) => void,
): number | undefined {
  let sum = 0;
  let product: number | undefined;
  let operator = "+";
  for (let i = 0; i <= terms.length; i += 2) {
    const token = terms[i];
    if (token?.kind !== "name" && token?.kind !== "number") {
      report(token ?? terms.at(-1), "A number or a name is missing");
      return undefined;
    }
    const value = token.kind === "number" ? Number(token.text) : values.get(token.text);
    if (value === undefined) {
      report(token, `${token.text} has no value`);
      return undefined;
    }
    if (operator === "*") product = (product ?? 0) * value;
    else if (operator === "/") product = (product ?? 0) / value;
    else {
      sum += product ?? 0;
      product = operator === "-" ? -value : value;
    }
    const next = terms[i + 1];
    if (next === undefined) break;
    if (next.kind !== "operator" || next.text === "=") {
      report(next, "An operator is missing");
      return undefined;
    }
    operator = next.text;
  }
  return sum + (product ?? 0);
}
