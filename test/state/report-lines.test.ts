// Reports as they are stored.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { packReport, ReportBuilder, unpackReport } from '../../src/state/report-lines.ts';

const separators = '\u2028\u2029\u0085\r\n\v\f\u001e';

it('a report is read as it was stored, whatever characters keys, titles and messages hold', async () => {
  const text = fc.string({ unit: fc.constantFrom(...separators, 'é', '😀', '"', '\\'), maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(text, { minLength: 1, maxLength: 40 }), async (keys) => {
      const builder = new ReportBuilder();
      for (const key of keys) {
        const reason = { code: 'table-invalid' as const, message: key, hint: key };
        builder.add({
          key: `city/${key}`,
          kind: 'dataset',
          nid: null,
          uuid: 'u',
          url: null,
          actions: [],
          outcome: 'failed',
          live: false,
          stale: false,
          rows: null,
          file: null,
          rejected: null,
          fixes: [],
          warnings: [],
          reason,
          jobId: null,
          attempts: 1,
          ms: 1,
        });
      }
      const at = '2026-11-21T12:00:00.000Z';
      const report = builder.end({
        runId: 'r',
        manifest: 'city',
        portal: 'p',
        startedAt: at,
        endedAt: at,
        reason: { code: 'internal', message: separators, hint: null },
      });
      const read = await unpackReport(await packReport(report));
      expect({ ...read, items: [...read.items] }).toEqual({ ...report, items: [...report.items] });
    }),
    { numRuns: 50 },
  );
});
