// What the job logs tell of resumed jobs: what each found, and how long it had lain idle.

/** What was read from the logs of all jobs. */
export interface LogFigures {
  jobs: number;
  /** Resumptions after a kill. */
  resumed: number;
  /** Milliseconds between the last line of a killed job and its resumption, sorted. */
  idleMs: number[];
  /** Resumptions that do not say what they found. */
  silent: string[];
}

const resumedLine = /\bresumed after a kill /;
const attemptLine = /^\S+ attempt \d+$/;
/** What a resumed job says that it found, of a run what it plans; or that it was given up. */
const found = /^\S+ (?:found|plan) |failed for good/;

/** Reads logs by job id; each line begins with its time. */
export const readJobLogs = (logs: ReadonlyMap<string, string[]>): LogFigures => {
  const figures: LogFigures = { jobs: logs.size, resumed: 0, idleMs: [], silent: [] };
  for (const [id, lines] of logs) {
    for (const [at, line] of lines.entries()) {
      if (!resumedLine.test(line)) continue;
      figures.resumed += 1;
      const before = lines.slice(0, at).findLast((earlier) => !attemptLine.test(earlier));
      if (before) figures.idleMs.push(timeOf(line) - timeOf(before));
      if (!tells(lines.slice(at + 1))) figures.silent.push([`${id}:`, ...lines.slice(at)].join('\n    '));
    }
  }
  figures.idleMs.sort((a, b) => a - b);
  return figures;
};

/**
 * True when a resumption says what it found; one that was killed before it could leaves that to the next. (Lines of the
 * former owner may come in between: a worker that lost its lock while Redis was away ends the write it is in.)
 */
const tells = (lines: string[]): boolean => {
  const next = lines.findIndex((line) => resumedLine.test(line));
  return next !== -1 || lines.some((line) => found.test(line));
};

const timeOf = (line: string): number => Date.parse(line.split(' ')[0] ?? '');
