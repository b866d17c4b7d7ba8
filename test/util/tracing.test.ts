import { type Attributes, type Span, trace } from '@opentelemetry/api';
import { afterEach, expect, it } from 'vitest';
import { inSpan } from '../../src/util/tracing.ts';

afterEach(() => trace.disable());

/** What an SDK would be told. */
const record = (): unknown[][] => {
  const told: unknown[][] = [];
  const span = {
    setAttribute: (...args: unknown[]) => {
      told.push(['attribute', ...args]);
      return span;
    },
    setStatus: (...args: unknown[]) => {
      told.push(['status', ...args]);
      return span;
    },
    end: () => told.push(['end']),
  };
  const startActiveSpan = (name: string, { attributes }: { attributes: Attributes }, work: (span: Span) => unknown) => {
    told.push(['start', name, attributes]);
    return work(span as unknown as Span); // the part of it that is used
  };
  trace.setGlobalTracerProvider({ getTracer: () => ({ startActiveSpan, startSpan: () => span }) as never });
  return told;
};

it('does the work without an SDK', async () => {
  expect(await inSpan('step', {}, async () => 1)).toBe(1);
});

it('gives each piece of work a span, which ends with it', async () => {
  const told = record();
  expect(await inSpan('step fetch', { 'sluice.portal': 'p' }, async () => 2)).toBe(2);
  expect(told).toEqual([['start', 'step fetch', { 'sluice.portal': 'p' }], ['end']]);
});

it('records the code of an error, never its message, and throws it on', async () => {
  const told = record();
  const error = Object.assign(new Error('secret words'), { code: 'portal-reply' });
  await expect(inSpan('portal write', {}, () => Promise.reject(error))).rejects.toBe(error);
  expect(told.slice(1)).toEqual([['attribute', 'error.type', 'portal-reply'], ['status', { code: 2 }], ['end']]);
  expect(JSON.stringify(told)).not.toContain('secret');
});
