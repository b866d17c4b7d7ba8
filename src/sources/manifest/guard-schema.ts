// The keys of a guard on tables: limits beyond which a new version of a table is held.
import { z } from 'zod';
import { optional } from '../../model/schema-parts.ts';
import { columnPolicies, type TableGuard } from '../../model/table-history.ts';
import { durationMs, durationText } from '../../util/quantity.ts';

/** A share as people write it: `10%`. */
export const share = z
  .string({ error: 'must be a share such as `10%`' })
  .regex(/^(?:100|\d{1,2})(?:\.\d+)?%$/, { error: 'must be a share such as `10%`, from 0% to 100%' });

/** `10%` as 0.1. */
export const shareOf = (text: string): number => Number.parseFloat(text) / 100;

/** See the head of this file. */
export const tableGuardShape = {
  rows: optional(share, {
    description: 'Holds a table with this share fewer or more rows than the live version.',
    examples: ['20%'],
  }),
  columns: optional(z.enum(columnPolicies), {
    default: 'any',
    description: 'Holds a table with a lost, renamed or retyped column; `keep` also one with a new column.',
    examples: ['grow'],
  }),
  nulls: optional(share, {
    description: 'Holds a table in which a column lost this share of its values.',
    examples: ['50%'],
  }),
  same: optional(durationText, {
    description: 'Reports a table without new data for this long.',
    examples: ['30d'],
  }),
};

const tableGuardFileSchema = z.strictObject(tableGuardShape);

/** A guard as it is in a file. */
type TableGuardFile = z.infer<typeof tableGuardFileSchema>;

/** The key of a resource. */
export const resourceGuard = optional(tableGuardFileSchema, {
  description: 'Limits beyond which a new version of the table is held, as in the `guard` of the manifest.',
  examples: [{ rows: '20%', columns: 'grow' }],
});

/** A guard over the one that it refines. */
export const mergedGuard = <Details extends { guard?: TableGuardFile }>(defaults: Details, own: Details): Details =>
  defaults.guard === undefined || own.guard === undefined
    ? own
    : { ...own, guard: { ...defaults.guard, ...own.guard } };

/** A guard as it is wanted; null for one without limits. */
export const guardOf = ({ rows, columns, nulls, same }: TableGuardFile = {}): TableGuard | null => {
  const guard = {
    ...(rows === undefined ? {} : { rows: shareOf(rows) }),
    ...(columns === undefined || columns === 'any' ? {} : { columns }),
    ...(nulls === undefined ? {} : { nulls: shareOf(nulls) }),
    ...(same === undefined ? {} : { sameMs: durationMs(same) }),
  };
  return Object.keys(guard).length === 0 ? null : guard;
};
