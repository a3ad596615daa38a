import type { OpenrpcMethod } from "./specification.ts";

/** Methods in the groups that their names spell. */
export type MethodTree = Map<string, OpenrpcMethod | MethodTree>;

/** Groups within groups beyond this are too much for the compilers that read them. */
const deepest = 32;

/** Nests `math/add` as `math` and `add`; a name that cannot be nested stays whole. */
export function methodTree(methods: readonly OpenrpcMethod[]): MethodTree {
  const names = new Set(methods.map(({ name }) => name));
  const tree: MethodTree = new Map();
  for (const method of methods) {
    const path = method.name.split("/");
    const isWhole =
      path.length > deepest ||
      path.some(
        // A group that is a method too has no place for others, and promises are known by "then".
        (part, i) =>
          part === "" || part === "then" || (i > 0 && names.has(path.slice(0, i).join("/"))),
      );
    if (isWhole) tree.set(method.name, method);
    else put(tree, path, method);
  }
  return tree;
}

function put(tree: MethodTree, [first, ...rest]: readonly string[], method: OpenrpcMethod): void {
  const key = first as string;
  if (rest.length === 0) {
    tree.set(key, method);
    return;
  }
  let group = tree.get(key);
  if (!(group instanceof Map)) {
    group = new Map();
    tree.set(key, group);
  }
  put(group, rest, method);
}
