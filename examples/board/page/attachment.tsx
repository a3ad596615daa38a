import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import type { Task } from "../contract.ts";
import { client, rpc } from "./rpc.ts";

/** The file of a task: uploaded with progress, and downloaded. */
export function Attachment({ task: { id, title, attachment } }: { task: Task }) {
  const queries = useQueryClient();
  const [progress, setProgress] = useState(0);
  const cancel = useRef<AbortController>(undefined);
  const upload = useMutation({
    mutationFn: (file: File) => {
      cancel.current = new AbortController();
      return client.api.tasks.attach(
        { id, file },
        {
          signal: cancel.current.signal,
          onUploadProgress: ({ sent, total }) => setProgress(total ? sent / total : 0),
        },
      );
    },
    onSettled: () => {
      setProgress(0);
      return queries.invalidateQueries({ queryKey: rpc.tasks.list.queryKey() });
    },
  });
  const download = useMutation({
    mutationFn: () => client.api.tasks.attachment({ id }),
    onSuccess: saveFile,
  });
  const failure = upload.error ?? download.error;
  if (upload.isPending) {
    return (
      <>
        <progress aria-label={`Upload for ${title}`} value={progress} />
        <button type="button" onClick={() => cancel.current?.abort()}>
          Cancel
        </button>
      </>
    );
  }
  return (
    <>
      {failure !== null && <span role="alert">{failure.message}</span>}
      {attachment !== null && (
        <button type="button" onClick={() => download.mutate()}>
          {attachment}
        </button>
      )}
      <label className="attach">
        Attach
        <input
          type="file"
          aria-label={`File for ${title}`}
          onChange={({ target }) => {
            const [file] = target.files ?? [];
            if (file !== undefined) upload.mutate(file);
          }}
        />
      </label>
    </>
  );
}

/** As if the user had clicked a link to it, which could not send the token. */
function saveFile(file: File): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = file.name;
  link.click();
  URL.revokeObjectURL(link.href);
}
