import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { live, rpc } from "./rpc.ts";

/** Keeps the list up to date while the page is open; returns the state of the connection. */
export function useChanges(): string {
  const queries = useQueryClient();
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const refresh = () => queries.invalidateQueries({ queryKey: rpc.tasks.list.queryKey() });
    const read = async () => {
      // Subscribes again after a lost connection. The first item of each subscription has the list read again, so that no
      // change between the two is missed.
      const options = { signal, idempotent: true };
      for await (const _change of live.api.tasks.changes(undefined, options)) await refresh();
    };
    read().catch((error: unknown) => {
      if (!signal.aborted) console.warn("live changes ended:", error);
    });
    return () => leaving.abort();
  }, [queries]);
  return useSyncExternalStore(
    (changed) => live.onState(changed),
    () => (live.state === undefined || live.state === "open" ? "live" : live.state),
  );
}
