/** Whether a function yields items; told by its tag, which functions of another realm have too. */
export function isGeneratorFunction(run: unknown): boolean {
  const { [Symbol.toStringTag]: tag } = run as { [Symbol.toStringTag]?: unknown };
  return tag === "AsyncGeneratorFunction" || tag === "GeneratorFunction";
}
