/**
 * A group for rolldown: what the given files import, with all that it imports in turn, becomes one file. The files
 * themselves stay outside, and imports in functions are not followed.
 * @param {string} name
 * @param {readonly string[]} paths
 */
export function importsOf(name, paths) {
  /** @type {Set<string> | undefined} */
  let reached;
  return {
    debugName: name,
    /**
     * @param {string} id
     * @param {import("rolldown").ChunkingContext} context
     */
    name(id, context) {
      reached ??= reachedFrom(paths, (path) => context.getModuleInfo(path)?.importedIds ?? []);
      return reached.has(id) ? name : null;
    },
  };
}

/**
 * @param {readonly string[]} paths
 * @param {(path: string) => readonly string[]} next
 */
function reachedFrom(paths, next) {
  const reached = new Set(paths.flatMap(next));
  for (const path of reached) for (const other of next(path)) reached.add(other);
  return reached;
}
