// The figures of a chaos run as text, and what of them must not be.
import type { ChaosFigures } from '../chaos.ts';

/** Everything that contradicts a guarantee; empty when all hold. */
export const faultsOf = ({
  verdict,
  settled,
  again,
  writesAgain,
  logs,
  failedItems,
  stopped,
}: ChaosFigures): string[] => [
  ...Object.entries(verdict).flatMap(([kind, lines]) => lines.map((line: string) => `${kind}: ${line}`)),
  ...(settled === 0 ? [] : [`the publish with faults off ended with ${settled}`]),
  ...(again === 0 ? [] : [`the publish after it ended with ${again}`]),
  ...writesAgain.map((write) => `the publish after it sent ${write}`),
  ...logs.silent.map((log) => `a resumed job does not say what it found: ${log}`),
  ...(failedItems.bug ? [`${failedItems.bug} items failed because of a bug`] : []),
  ...stopped.flatMap((how) => (how === 0 ? [] : [`a worker ended with ${how} when it was stopped`])),
];

/** The figures, one line each. */
export const figuresText = (figures: ChaosFigures): string[] => {
  const { kills, recoveryMs, logs, verdict } = figures;
  const total = Object.values(kills).reduce((sum, count) => sum + count, 0);
  return [
    `kills: ${total} ${JSON.stringify(kills)}`,
    `requests: ${figures.requests}, faults injected: ${JSON.stringify(figures.faults)}`,
    `publishes under fire: ${figures.published}, items that failed in them: ${JSON.stringify(figures.failedItems)}`,
    `from a kill to the next request: ${spread(recoveryMs)}`,
    ...figures.recoveries.map(
      ({ victim, requestMs, resumedMs }) =>
        `default settings, ${victim} killed: next request after ${seconds(requestMs)}, ${resumedMs === null ? 'no job had to be resumed' : `killed jobs go on after ${seconds(resumedMs)}`}`,
    ),
    `from a killed job's last word to its resumption: ${spread(logs.idleMs)}`,
    `job logs: ${logs.jobs}, resumptions: ${logs.resumed}, without a finding: ${logs.silent.length}`,
    ...Object.entries(verdict).map(([kind, lines]) => `${kind}: ${lines.length}`),
    `faults off: exit ${figures.settled}; again: exit ${figures.again}, ${figures.writesAgain.length} writes`,
  ];
};

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

const spread = (sorted: number[]): string => {
  const at = (share: number): string =>
    seconds(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  return sorted.length === 0 ? 'none' : `median ${at(0.5)}, 99 % ${at(0.99)}, longest ${at(1)} (${sorted.length})`;
};
