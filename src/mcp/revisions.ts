/** Revisions with `initialize` and sessions, oldest first. */
const legacyRevisions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;

/** Stateless revisions: each request names its revision. */
export const modernRevisions = ["2026-07-28"] as const;

export type LegacyRevision = (typeof legacyRevisions)[number];
export type ModernRevision = (typeof modernRevisions)[number];
export type Revision = LegacyRevision | ModernRevision;

/** All supported revisions, newest first. */
export const revisions: readonly Revision[] = [...legacyRevisions, ...modernRevisions].reverse();

export const latestLegacy: LegacyRevision = "2025-11-25";
export const latestModern: ModernRevision = "2026-07-28";

export function isLegacy(revision: unknown): revision is LegacyRevision {
  return (legacyRevisions as readonly unknown[]).includes(revision);
}

export function isModern(revision: unknown): revision is ModernRevision {
  return (modernRevisions as readonly unknown[]).includes(revision);
}

/** Dates in this form compare as strings. */
export function atLeast(revision: Revision, other: Revision): boolean {
  return revision >= other;
}
