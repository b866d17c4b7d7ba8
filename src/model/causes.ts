// Failures grouped by their cause, for runs of which nobody reads every line.
import { z } from 'zod';
import { type Reason, reasonSchema } from './report.ts';

const causeSchema = z.object({
  /** The reason of the first item; the others share its code. */
  reason: reasonSchema,
  count: z.number().int(),
  /** The first items. */
  items: z.array(z.object({ key: z.string(), message: z.string() })),
});

/** Items that failed for the same cause. */
export type Cause = z.infer<typeof causeSchema>;

/** See {@link causesOf}. */
export const causesSchema = z.array(causeSchema);

/** Groups items with a reason by its code, the largest group first, each with its first `shown` items. */
export const causesOf = (items: Iterable<{ key: string; reason: Reason | null }>, shown = 10): Cause[] => {
  const causes = new Map<string, Cause>();
  for (const { key, reason } of items) {
    if (reason === null) continue;
    const cause = causes.get(reason.code) ?? { reason, count: 0, items: [] };
    causes.set(reason.code, cause);
    cause.count += 1;
    if (cause.items.length < shown) cause.items.push({ key, message: reason.message });
  }
  return [...causes.values()].sort((a, b) => b.count - a.count);
};
