// What commands print with `--json`, parsed.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { z } from 'zod';
import { type PlanFile, planFileSchema } from '../../src/model/plan-file.ts';
import { type Report, reportSchema } from '../../src/model/report.ts';

export const reportsIn = (out: string): Report[] =>
  z.strictObject({ reports: z.array(reportSchema) }).parse(JSON.parse(out)).reports;

/** The only report. */
export const reportIn = (out: string): Report => z.tuple([reportSchema]).parse(reportsIn(out))[0];

/** The only plan. */
export const planIn = (out: string): PlanFile =>
  z.strictObject({ plans: z.tuple([planFileSchema]) }).parse(JSON.parse(out)).plans[0];

/** What the public schema finds wrong in a value; empty where it is as it says. */
export const faultsIn = (schema: 'report' | 'status', value: unknown): unknown[] => {
  const ajv = new Ajv();
  addFormats.default(ajv);
  const path = join(import.meta.dirname, `../../config/${schema}.schema.json`);
  const validate = ajv.compile(JSON.parse(readFileSync(path, 'utf8')));
  return validate(value) ? [] : (validate.errors ?? []);
};
