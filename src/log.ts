// The root logger with its redaction list.
import { type DestinationStream, type Logger, pino } from 'pino';

/** A pino logger; children carry `runId`, `jobId`, `kind`, `key` and `portal`. */
export type Log = Logger;

/** What never reaches a log, wherever it stands in an object. */
const redacted = ['password', 'token', 'cookie', 'authorization', 'sessid', 'set-cookie', 'x-csrf-token'];

/** How the root logger is made. */
export interface LogOptions {
  level: string;
  /** Where lines go; standard output when absent. */
  destination?: DestinationStream;
}

/** Makes the root logger: JSON lines with ISO times; secrets are replaced by `[redacted]`. */
export const createLog = ({ level, destination }: LogOptions): Log =>
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
    destination ?? pino.destination({ fd: 1, sync: true }),
  );
