/** The same methods and calls for each library. No two methods have the same types, so that none is checked for free. */

export function schemas(i) {
  return {
    params: `z.object({ id: z.string(), n${i}: z.number(), tags: z.array(z.string()).optional() })`,
    result: `z.object({ id: z.string(), total${i}: z.number(), owner: z.object({ name: z.string(), age: z.number() }) })`,
    body: `({ id, n${i} }) => ({ id, total${i}: n${i}, owner: { name: id, age: n${i} } })`,
  };
}

/** `entry` writes one method; `group` wraps the entries of a group and `root` the groups. */
export function methodsFile({ imports, entry, group = braces, root = braces }) {
  return (groups) =>
    [
      imports,
      'import { z } from "zod";',
      `export const methods = ${root(
        groups
          .map(([name, places]) => `${name}: ${group(places.map(entry).join(",\n"))}`)
          .join(",\n"),
      )};`,
      "",
    ].join("\n");
}

/** `call` writes one call with these params. */
export function callsFile({ head, call }) {
  return (places) =>
    [
      head,
      ...places.map((place) => {
        const params = `{ id: "a", n${place.i}: ${place.i} }`;
        return `export const r${place.i}: number = (await ${call(place, params)}).total${place.i};`;
      }),
      "",
    ].join("\n");
}

function braces(text) {
  return `{\n${text}\n}`;
}
