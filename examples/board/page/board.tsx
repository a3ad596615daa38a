import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { Task } from "../contract.ts";
import { Attachment } from "./attachment.tsx";
import { useChanges } from "./changes.ts";
import { Report } from "./report.tsx";
import { rpc } from "./rpc.ts";

export function Board({ name }: { name: string }) {
  const state = useChanges();
  const tasks = useQuery(rpc.tasks.list.queryOptions());
  return (
    <>
      <header>
        <h1>Board of {name}</h1>
        <span className="state" role="status">
          {state}
        </span>
      </header>
      <NewTask />
      {tasks.error !== null && <p role="alert">{tasks.error.message}</p>}
      <ul>
        {tasks.data?.map((task) => (
          <Row key={task.id} task={task} />
        ))}
      </ul>
      <Report />
    </>
  );
}

function NewTask() {
  const queries = useQueryClient();
  const create = useMutation({
    ...rpc.tasks.create.mutationOptions(),
    onSettled: () => queries.invalidateQueries({ queryKey: rpc.tasks.queryKey() }),
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const form = event.currentTarget;
        create.mutate(
          { title: String(new FormData(form).get("title")) },
          { onSuccess: () => form.reset() },
        );
      }}
    >
      <input name="title" aria-label="New task" placeholder="What is to be done?" required />
      <button className="main" type="submit">
        Add
      </button>
      {create.error !== null && <p role="alert">{create.error.message}</p>}
    </form>
  );
}

function Row({ task }: { task: Task }) {
  const queries = useQueryClient();
  const { queryKey } = rpc.tasks.list.queryOptions();
  const update = useMutation({
    ...rpc.tasks.update.mutationOptions(),
    // Shown at once, and taken back if the server refuses it.
    onMutate: async ({ done }) => {
      await queries.cancelQueries({ queryKey });
      const before = queries.getQueryData(queryKey);
      queries.setQueryData(queryKey, (all) =>
        all?.map((own) => (own.id === task.id ? { ...own, done: done ?? own.done } : own)),
      );
      return { before };
    },
    onError: (_error, _params, context) => {
      queries.setQueryData(queryKey, context?.before);
    },
    onSettled: () => queries.invalidateQueries({ queryKey }),
  });
  const remove = useMutation({
    ...rpc.tasks.remove.mutationOptions(),
    onSettled: () => queries.invalidateQueries({ queryKey }),
  });
  const failure = update.error ?? remove.error;
  return (
    <li className={task.done ? "done" : ""}>
      <input
        type="checkbox"
        aria-label={`Done: ${task.title}`}
        checked={task.done}
        onChange={({ target }) => update.mutate({ id: task.id, done: target.checked })}
      />
      <span>
        {task.title} <small>{task.by}</small>
      </span>
      {failure !== null && <span role="alert">{failure.message}</span>}
      <Attachment task={task} />
      <button type="button" onClick={() => remove.mutate({ id: task.id })}>
        Remove
      </button>
    </li>
  );
}
