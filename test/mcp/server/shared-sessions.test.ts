import { MemoryWorkStore, type WorkRecord, type WorkStore } from "callwire/work";
import { sharedSessionTests } from "./shared-sessions.ts";

/** A store in memory that several servers share. */
class SharedStore extends MemoryWorkStore implements WorkStore {
  changed(known: ReadonlyMap<string, number>): WorkRecord[] {
    return [...known].flatMap(([id, version]) => {
      const record = this.load(id);
      return record !== undefined && record.version > version ? [structuredClone(record)] : [];
    });
  }
}

sharedSessionTests(() => new SharedStore());
