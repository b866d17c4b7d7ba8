// Answers: values and errors in the format that was asked for.
import type { Log } from '../model/log.ts';
import type { StreamedBody } from './call.ts';
import { type FormatName, formats } from './media/formats.ts';
import type { ResultShape, Value, WriteStyle } from './media/value.ts';
import { Refusal, reasonPhrase } from './refusal.ts';

/** A response before it is sent. */
export interface Answer {
  status: number;
  /** The reason phrase; the standard one when absent. */
  reason?: string;
  contentType: string;
  headers?: Record<string, string>;
  /** True: without the headers that every answer of the service has. */
  plain?: boolean;
  body: string | StreamedBody;
}

/** How a body is written beside its value. */
export interface BodyStyle {
  style: WriteStyle;
  callback?: unknown;
}

/** A result as body; the caller adds type and headers. */
export const formatValue = (
  { value, shape = 'plain' }: { value: unknown; shape?: ResultShape },
  format: FormatName,
  style: BodyStyle,
): Pick<Answer, 'status' | 'body'> => ({
  status: 200,
  // Resources answer with what JSON can say.
  body: formats[format].write(value as Value, { ...style, shape }),
});

/** A refusal as answer: the message as one-element list or its own body; empty and text/html where no format is known. */
export const formatError = (refusal: Refusal, format: FormatName | null, style: BodyStyle): Answer => {
  const { status, message, details } = refusal;
  const reason = details.reason ?? reasonPhrase(status, message);
  if (format === null || details.bare === true) {
    const body = details.bare === true ? '' : (details.raw ?? message);
    return { status, reason, contentType: 'text/html; charset=UTF-8', body };
  }
  const contentType = formats[format].mimeTypes[0];
  if (details.raw !== undefined) return { status, reason, contentType, body: details.raw };
  // A message alone is a scalar: JSON and YAML make the one-element list of it, XML and PHP the bare text.
  const value = details.body === undefined ? message : details.body;
  return {
    status,
    reason,
    contentType,
    body: formats[format].write(value as Value, { ...style, shape: 'plain' }),
  };
};

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'errcode' in error ? error.errcode : (error as { code?: unknown } | null)?.code;

/** What a client is told when something failed on our side; the log holds the details. */
export const internalFault = (error: unknown, log: Log): Refusal => {
  log.error({ err: error }, 'a request failed');
  const code = codeOf(error);
  if (code === 13 || code === 'ENOSPC' || code === 'EDQUOT') {
    return new Refusal(507, 'The portal has no space left; nothing was changed.');
  }
  if (code === 8 || code === 10 || code === 'EROFS' || code === 'EACCES' || code === 'EPERM') {
    return new Refusal(503, 'The portal cannot write its store; nothing was changed.');
  }
  return new Refusal(500, 'An error occurred.', { reason: 'Internal Server Error : An error occurred.' });
};
