import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { client } from "./rpc.ts";

/** A job on the server that reports its progress, and that can be cancelled. */
export function Report() {
  const [progress, setProgress] = useState<{ checked: number; of: number }>();
  const [cancel, setCancel] = useState<AbortController>();
  const { data, error, mutate, isPending } = useMutation({
    mutationFn: (signal: AbortSignal) =>
      client.api.report(undefined, { signal, onProgress: setProgress }),
    onSettled: () => setProgress(undefined),
  });
  return (
    <section>
      <div className="report">
        {isPending ? (
          <>
            <progress aria-label="Report" value={progress?.checked ?? 0} max={progress?.of ?? 1} />
            <button type="button" onClick={() => cancel?.abort()}>
              Cancel
            </button>
          </>
        ) : (
          <button
            type="button"
            onClick={() => {
              const own = new AbortController();
              setCancel(own);
              mutate(own.signal);
            }}
          >
            Report
          </button>
        )}
      </div>
      {error !== null && <p role="alert">{error.message}</p>}
      {data?.map(({ name, open, done }) => (
        <p key={name}>
          {name}: {open} open, {done} done
        </p>
      ))}
    </section>
  );
}
