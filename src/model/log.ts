// The root logger with its redaction list.
import type { Writable } from 'node:stream';
import { type Logger, pino } from 'pino';
import { printable } from './errors.ts';

/** A pino logger; children carry `runId`, `jobId`, `kind`, `key` and `portal`. */
export type Log = Logger;

/** What never reaches a log, wherever it is in an object. */
const redacted = ['password', 'token', 'cookie', 'authorization', 'sessid', 'set-cookie', 'x-csrf-token'];

interface LogOptions {
  level: string;
  /** Where lines go; standard output when absent, as in tests and benches. */
  destination?: Writable;
  pretty?: boolean;
}

/** Makes the root logger: JSON lines with ISO times (or lines for people); secrets are replaced by `[redacted]`. */
export const createLog = ({ level, destination, pretty: forPeople }: LogOptions): Log =>
  pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: redacted.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]),
        censor: '[redacted]',
      },
    },
    forPeople ? { write: (line) => (destination ?? process.stdout).write(forTerminal(line)) } : destination,
  );

const colours: Record<string, number> = { fatal: 35, error: 31, warn: 33, info: 32, debug: 34, trace: 90 };

/** A line of JSON as `[12:00:00] WARN: what happened {"portal":"city"}`, the stack of an error below. */
const forTerminal = (line: string): string => {
  const { level, time, msg = '', err, ...facts } = JSON.parse(line);
  const coloured = (text: string, colour: number): string => `\x1b[${colour}m${text}\x1b[39m`;
  const more = Object.keys(facts).length === 0 ? '' : ` ${coloured(printable(JSON.stringify(facts)), 90)}`;
  const stack = err === undefined ? '' : `\n    ${printable(String(err.stack ?? JSON.stringify(err)))}`;
  const clock = new Date(time).toTimeString().slice(0, 8);
  return `[${clock}] ${coloured(level.toUpperCase(), colours[level] ?? 39)}: ${printable(msg)}${more}${stack}\n`;
};
