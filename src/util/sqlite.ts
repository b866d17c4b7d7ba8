// SQLite, without the warning that Node 22 prints when it is used first.
const { emitWarning } = process;
process.emitWarning = () => undefined;
const sqlite = process.getBuiltinModule('node:sqlite');
process.emitWarning = emitWarning;

export const { DatabaseSync } = sqlite;
export type DatabaseSync = InstanceType<typeof DatabaseSync>;
