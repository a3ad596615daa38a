import type { Artifact, Part, StreamResponse, Task } from "./model.ts";

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
  const { id: taskId, contextId } = after;
  const events: StreamResponse[] = [];
  for (const artifact of after.artifacts ?? []) {
    const known = before.artifacts?.find(({ artifactId }) => artifactId === artifact.artifactId);
    if (known === undefined) events.push({ artifactUpdate: { taskId, contextId, artifact } });
    else if (partsOf(artifact).length > partsOf(known).length) {
      const parts = partsOf(artifact).slice(partsOf(known).length);
      events.push({
        artifactUpdate: { taskId, contextId, artifact: { ...artifact, parts }, append: true },
      });
    }
  }
  const { status } = after;
  if (status.state !== before.status.state || status.timestamp !== before.status.timestamp)
    events.push({ statusUpdate: { taskId, contextId, status } });
  return events;
}
