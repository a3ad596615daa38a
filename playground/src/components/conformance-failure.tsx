import type { ConformanceResult } from "callwire/testing";

/** A failed case: what the specification requires, what was sent, and what was received. */
export function ConformanceFailure({ result }: { readonly result: ConformanceResult }) {
  const { case: each, reason, exchanges } = result;
  const last = exchanges.at(-1);
  return (
    <section class="conformance-failure" aria-label={each.id}>
      <h3>
        <span class={each.level === "MUST" ? "bad" : "faint"}>{each.level}</span> {each.title}
      </h3>
      <p>{reason}</p>
      <p class="note">
        {each.says} ({each.section})
      </p>
      {last === undefined ? null : (
        <code class="exchange">{`--> ${last.sent}\n<-- ${last.got}`}</code>
      )}
    </section>
  );
}
