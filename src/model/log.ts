// The root logger with its redaction list.
import type { Writable } from 'node:stream';
import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

/** A pino logger; children carry `runId`, `jobId`, `kind`, `key` and `portal`. */
export type Log = Logger;

/** What never reaches a log, wherever it is in an object. */
const redacted = ['password', 'token', 'cookie', 'authorization', 'sessid', 'set-cookie', 'x-csrf-token'];

/** How the root logger is made. */
interface LogOptions {
  level: string;
  /** Where lines go; standard output when absent, as in tests and benches. */
  destination?: Writable;
  /** Lines for people instead of JSON. */
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
    forPeople
      ? pretty({
          colorize: true,
          translateTime: 'SYS:HH:MM:ss',
          singleLine: true,
          ...(destination ? { destination } : {}),
          sync: true,
        })
      : destination,
  );

/** Lines about one job. */
export interface JobLog {
  info(facts: object, line: string): void;
  warn(facts: object, line: string): void;
  error(facts: object, line: string): void;
}

/** A child of a log, created with its first line: creating one costs as much as writing several lines. */
export class LateLog implements JobLog {
  readonly #parent: Log;
  readonly #fields: object;
  #child: Log | null = null;

  constructor(parent: Log, fields: object) {
    this.#parent = parent;
    this.#fields = fields;
  }

  info(facts: object, line: string): void {
    this.#write('info', facts, line);
  }

  warn(facts: object, line: string): void {
    this.#write('warn', facts, line);
  }

  error(facts: object, line: string): void {
    this.#write('error', facts, line);
  }

  #write(level: 'info' | 'warn' | 'error', facts: object, line: string): void {
    if (!this.#parent.isLevelEnabled(level)) return;
    this.#child ??= this.#parent.child(this.#fields);
    this.#child[level](facts, line);
  }
}
