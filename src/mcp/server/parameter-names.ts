/** What the source text of a function tells about its parameters. */
export type Parameters =
  /** Each by its name, in order; those with a default may be left out. */
  | { readonly form: "named"; readonly names: readonly string[]; readonly required: number }
  /** One object. */
  | { readonly form: "object"; readonly names: readonly string[] }
  | { readonly form: "unknown" };

const identifier = /^[A-Za-z_$][\w$]*$/;

/** Agents call by name, and a plain function has its names in its text only. */
export function parametersOf(run: (...args: never[]) => unknown): Parameters {
  const list = parameterList(Function.prototype.toString.call(run));
  if (list === undefined) return { form: "unknown" };
  const parts = split(list);
  if (parts.length === 1 && parts[0]?.startsWith("{")) {
    const inner = /^\{([^{}]*)\}/.exec(parts[0])?.[1];
    const names = inner === undefined ? [] : split(inner).map((part) => nameOf(part, /[:=]/));
    return { form: "object", names: names.filter((name) => identifier.test(name)) };
  }
  const names = parts.map((part) => nameOf(part, /=/));
  if (!names.every((name) => identifier.test(name))) return { form: "unknown" };
  return { form: "named", names, required: run.length };
}

function nameOf(part: string, end: RegExp): string {
  return (part.split(end)[0] ?? "").trim();
}

/** The text between the parentheses, without comments. */
function parameterList(source: string): string | undefined {
  const text = source.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, " ");
  const [, single] = /^(?:async\s+)?([A-Za-z_$][\w$]*)\s*=>/.exec(text) ?? [];
  if (single !== undefined) return single;
  const start = text.indexOf("(");
  if (start === -1) return undefined;
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    const c = text[i] as string;
    if ("([{".includes(c)) depth++;
    else if (")]}".includes(c) && --depth === 0) return text.slice(start + 1, i);
  }
  return undefined;
}

/** At the commas that stand in no bracket. */
function split(list: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i < list.length; i++) {
    const c = list[i] as string;
    if ("([{".includes(c)) depth++;
    else if (")]}".includes(c)) depth--;
    else if (c === "," && depth === 0) {
      parts.push(list.slice(from, i).trim());
      from = i + 1;
    }
  }
  const last = list.slice(from).trim();
  return last === "" ? parts : [...parts, last];
}
