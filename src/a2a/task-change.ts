import type { Artifact, ArtifactUpdate, Message, Part, StreamResponse, Task } from "./model.ts";

/** The task after an event. Agents and clients use the same rule, so that both have the same task. */
export function changed(task: Task, event: StreamResponse): Task {
  if ("task" in event) return event.task;
  if ("statusUpdate" in event) {
    const { status } = event.statusUpdate;
    if (status.message === undefined) return { ...task, status };
    return { ...task, status, history: [...(task.history ?? []), status.message] };
  }
  if ("artifactUpdate" in event) {
    const { artifact, append = false } = event.artifactUpdate;
    return { ...task, artifacts: withArtifact(task.artifacts ?? [], artifact, append) };
  }
  return task;
}

function withArtifact(
  artifacts: readonly Artifact[],
  artifact: Artifact,
  append: boolean,
): readonly Artifact[] {
  const at = artifacts.findIndex(({ artifactId }) => artifactId === artifact.artifactId);
  const before = artifacts[at];
  if (before === undefined) return [...artifacts, artifact];
  const parts = [...partsOf(before), ...partsOf(artifact)];
  const after = append ? { ...before, parts } : artifact;
  return artifacts.with(at, after);
}

/** Agents on Protocol Buffers leave out empty lists. */
function partsOf({ parts }: { readonly parts?: readonly Part[] | null }): readonly Part[] {
  return parts ?? [];
}

/** The events that lead from one state of a task to a later one, for a client that missed them. */
export function changesBetween(before: Task, after: Task): StreamResponse[] {
  const { id: taskId, contextId, status } = after;
  const events: StreamResponse[] = [];
  for (const message of missedMessages(before, after)) {
    // The history has the agent's messages, but not their states; the agent continued after each.
    const said = { state: "TASK_STATE_WORKING", message } as const;
    events.push({ statusUpdate: { taskId, contextId, status: said } });
  }
  for (const artifact of after.artifacts ?? []) {
    const known = before.artifacts?.find(({ artifactId }) => artifactId === artifact.artifactId);
    const change = known === undefined ? { artifact } : artifactChange(known, artifact);
    if (change !== undefined) events.push({ artifactUpdate: { taskId, contextId, ...change } });
  }
  if (status.state !== before.status.state || status.timestamp !== before.status.timestamp)
    events.push({ statusUpdate: { taskId, contextId, status } });
  return events;
}

/** What the agent said in between; its last message is that of the status. */
function missedMessages(before: Task, { history, status }: Task): readonly Message[] {
  const known = new Set([before.status, status].map(({ message }) => message?.messageId));
  for (const { messageId } of before.history ?? []) known.add(messageId);
  return (history ?? []).filter(
    ({ role, messageId }) => role === "ROLE_AGENT" && !known.has(messageId),
  );
}

/** The parts that follow those that are known, or the whole artifact if it was replaced. */
function artifactChange(
  known: Artifact,
  artifact: Artifact,
): Pick<ArtifactUpdate, "artifact" | "append"> | undefined {
  const [before, after] = [partsOf(known), partsOf(artifact)];
  if (!beginsWith(after, before)) return { artifact };
  const parts = after.slice(before.length);
  return parts.length === 0 ? undefined : { artifact: { ...artifact, parts }, append: true };
}

function beginsWith(parts: readonly Part[], first: readonly Part[]): boolean {
  try {
    return JSON.stringify(parts.slice(0, first.length)) === JSON.stringify(first);
  } catch {
    // Data that is too deep to be compared counts as the same, or an agent could send it as a change again and again.
    return true;
  }
}
