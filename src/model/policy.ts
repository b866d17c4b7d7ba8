// Policies of manifests and commands: what to do with edited and missing nodes, tables, files and runs.

export const driftPolicies = ['hold', 'overwrite', 'keep'] as const;

export type OnDrift = (typeof driftPolicies)[number];

/** How a node is taken down; `orphan` marks it and unpublishes it. */
export const removalModes = ['orphan', 'unpublish', 'delete'] as const;

export type RemovalMode = (typeof removalModes)[number];

/** Whether the rows of a table go into the datastore; `unchecked` sends a faulty one as any other file. */
export const importModes = ['auto', 'never', 'unchecked'] as const;

export type ImportMode = (typeof importModes)[number];

/** Whose jobs a portal gets first, of manifests that wait for it at the same time. */
export const runPriorities = ['high', 'normal'] as const;

export type RunPriority = (typeof runPriorities)[number];

export const missingPolicies = ['keep', ...removalModes] as const;

export type OnMissing = (typeof missingPolicies)[number];

/** Which files of resources an export takes: all anew, those that changed, or none. */
export const exportedFiles = ['changed', 'all', 'none'] as const;

/** What becomes of rows of a table that do not fit. */
export const badRowPolicies = ['fail', 'quarantine', 'skip'] as const;

/** Whether faults of a table that have only one possible fix are fixed. */
export const mendModes = ['safe', 'off'] as const;

/** What may happen to the columns of a table: nothing, new ones may appear, anything. */
export const columnPolicies = ['keep', 'grow', 'any'] as const;

export const heldDecisions = ['release', 'discard'] as const;

export const catchUpPolicies = ['once', 'skip'] as const;
