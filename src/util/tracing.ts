// Spans for OpenTelemetry. Without an SDK in the process they cost next to nothing and go nowhere.
import { type Attributes, type Span, SpanStatusCode, trace } from '@opentelemetry/api';

/** Runs `work` in a span. Of an error only its code is recorded: messages may hold what is not meant for others. */
export const inSpan = async <T>(name: string, attributes: Attributes, work: (span: Span) => Promise<T>): Promise<T> =>
  trace.getTracer('sluice').startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'error';
      span.setAttribute('error.type', code).setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
