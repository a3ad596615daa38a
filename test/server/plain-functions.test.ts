/** Plain functions, whose params have names only in their source. */
import { createClient, createServer } from "callwire";
import { memoryPair } from "callwire/connection";
import { openrpcDocument } from "callwire/openrpc";
import { describe, expect, test } from "vitest";
import { ask } from "./asking.ts";

type Plain = (...args: never[]) => unknown;

/** The function with this source. */
function written(source: string): Plain {
  return new Function(`return (${source})`)() as Plain;
}

/** The same for a method of an object. */
function member(source: string): Plain {
  return Object.values(written(`() => ({ ${source} })`)() as Record<string, Plain>)[0] as Plain;
}

/** In every form that can be written; all return what they got. */
const several: Readonly<Record<string, Plain>> = {
  arrow: written("(a, b) => [a, b]"),
  "async arrow": written("async(a,b)=>[a,b]"),
  declaration: written("function declared ( a , b , ) { return [a, b]; }"),
  member: member("add(a, b) { return [a, b]; }"),
  "async member": member("async add(a, b) { return [a, b]; }"),
  "computed member": member('["a(x" + (() => 1)()](a, b) { return [a, b]; }'),
  "quoted member": member("'(x, y)'(a, b) { return [a, b]; }"),
  commented: written("(/* c, (d */ a, // e)\n b /* = ( */) => [a, b]"),
  defaulted: written(`(a, b = "),([{//\\"" + '/*' + \`)\`) => [a, b]`),
  dynamic: new Function("a", "b", "return [a, b]") as Plain,
};

describe("called by name", () => {
  test.each(Object.keys(several))("%s gets its arguments in order", async (name) => {
    const server = createServer(several);
    expect(await ask(server, name, { b: 3, a: 2 })).toMatchObject({ result: [2, 3] });
    expect(await ask(server, name, [2, 3])).toMatchObject({ result: [2, 3] });
  });

  test("one that is left out takes its default", async () => {
    const server = createServer({ add: (a: number, b = 40, c = 0) => a + b + c });
    expect(await ask(server, "add", { a: 2 })).toMatchObject({ result: 42 });
    expect(await ask(server, "add", { a: 2, c: 8 })).toMatchObject({ result: 50 });
  });

  test("a stream gets its arguments too", async () => {
    const server = createServer({
      async *range(from: number, to: number) {
        for (let i = from; i <= to; i++) yield i;
      },
    });
    const [link] = memoryPair(undefined, server);
    const items: unknown[] = [];
    for await (const item of createClient(link).stream("range", { to: 3, from: 2 }))
      items.push(item);
    expect(items).toEqual([2, 3]);
  });

  test("names that objects have by themselves are names like all others", async () => {
    const server = createServer({
      f: written("(constructor, toString) => [constructor, toString]"),
    });
    expect(await ask(server, "f", { constructor: 1 })).toMatchObject({ result: [1, null] });
    expect(await ask(server, "f", { hasOwnProperty: 1 })).toMatchObject({
      result: [{ hasOwnProperty: 1 }, null],
    });
  });
});

describe("called with an object that is an argument itself", () => {
  test("a function with one parameter gets it unchanged, also if a member has that name", async () => {
    const server = createServer({ echo: (message: unknown) => message });
    expect(await ask(server, "echo", { message: "hi" })).toMatchObject({
      result: { message: "hi" },
    });
  });

  test("a function with several gets it if a member is not the name of one", async () => {
    const methods = {
      save: (user: { id: number; name: string }, id?: number) => `${user.name} ${id}`,
      settings: (options: { loud?: boolean }, level?: number) => [options, level],
    };
    const [link] = memoryPair(undefined, createServer(methods));
    const { api } = createClient<typeof methods>(link);
    expect(await api.save({ id: 1, name: "Ada" })).toBe("Ada undefined");
    expect(await api.save({ id: 1, name: "Ada" }, 2)).toBe("Ada 2");
    expect(await api.settings({})).toEqual([{}, null]);
  });

  test.each<[string, Plain]>([
    ["takes it apart", written("({ a, b }) => ({ a, b })")],
    ["takes the rest", written("(...args) => args[0]")],
    ["takes some and the rest", written("(a, ...b) => a")],
    ["takes the second apart", written("(a, { b } = {}) => b ?? a")],
    ["has code in a default", written("(a, b = `$" + "{1}, c`) => a")],
    ["has a regular expression in a default", written("(a, b = /[)]/) => a")],
    ["is bound", written("(a, b) => b ?? a").bind(undefined)],
    ["names both the same", written("function (a, a) { return arguments[0]; }")],
  ])("a function that %s gets the object", async (_, f) => {
    expect(await ask(createServer({ f }), "f", { a: 2, b: 3 })).toMatchObject({
      result: { a: 2, b: 3 },
    });
  });
});

describe("the document has the names that the source has", () => {
  const namesOf = (f: Plain) => {
    const { paramStructure, params } = openrpcDocument({ f }).methods[0] ?? {};
    return [paramStructure, params?.map(({ name }) => name)];
  };

  test.each(Object.entries(several))("of %s", (_, f) => {
    expect(namesOf(f)).toEqual(["by-position", ["a", "b"]]);
  });

  test.each<[string, string, string[]]>([
    ["größe => [größe].concat(1)", "by-position", ["größe"]],
    ["async /* b */ a /* c */ => f(b)", "by-position", ["a"]],
    ["() => 1", "by-position", []],
    ["({ a, b: { c }, d = [1, 2] } = {}) => a", "by-name", ["a", "b", "d"]],
    ["({ a, ...rest }) => a", "by-name", ["a"]],
    ["(...args) => args", "by-position", []],
    ["(a, [b], c = 1) => a", "by-position", ["arg1", "arg2"]],
    ["Math.max", "by-position", ["arg1", "arg2"]],
    ["((a, b) => a).bind()", "by-position", ["arg1", "arg2"]],
  ])("of %s", (source, structure, names) => {
    expect(namesOf(written(source))).toEqual([structure, names]);
  });
});
