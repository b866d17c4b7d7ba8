// A whole plan in one piece, of what a test knows.
import type { Target } from '../../../../src/model/redis-keys.ts';
import type { DatasetWish } from '../../../../src/model/wish.ts';
import type { Missing } from '../../../../src/pipeline/plan/missing.ts';
import type { KnownState } from '../../../../src/pipeline/plan/plan.ts';
import { openTargetPlan, type PlannedPage, type TargetPlanOptions } from '../../../../src/pipeline/plan/target-plan.ts';
import { defaultRules } from '../../../../src/sources/manifest/schema.ts';
import { WishList } from '../../../../src/sources/wish-list.ts';

/** All pages of a plan as one, what is missing, and the verdict of the guard. */
export interface WholePlan extends Pick<PlannedPage, 'wishes' | 'datasets' | 'removals'> {
  missing: Missing;
  held: string | null;
  /** Keys of the datasets of each page, and of what is taken down in it. */
  pages: string[][];
}

const target: Target = { manifest: 'm', portal: 'p' };

/** Plans wishes against what is known. */
export const planAll = async (
  wishes: readonly DatasetWish[] | WishList,
  known: KnownState,
  options: Partial<TargetPlanOptions> = {},
): Promise<WholePlan> => {
  const plan = await openTargetPlan({
    ledger: {
      index: async () => new Map(known.entries),
      entriesOf: async (_portal, keys) => keys.map((key) => known.entries.get(key) ?? null),
      sentOf: async (_portal, keys) => keys.map((key) => known.sent.get(key) ?? null),
    },
    target,
    wishes: wishes instanceof WishList ? wishes : WishList.of(wishes),
    only: null,
    isLimited: false,
    isWhole: false,
    rules: defaultRules,
    stated: { complete: true, skipped: [] },
    now: 1,
    observe: async (_wishes, entries) => ({ ...known, entries }),
    ...options,
  });
  const whole: WholePlan = { wishes: [], datasets: [], removals: [], missing: plan.missing, held: null, pages: [] };
  for await (const page of plan.pages()) {
    whole.wishes.push(...page.wishes);
    whole.datasets.push(...page.datasets);
    whole.removals.push(...page.removals);
    whole.pages.push([...page.wishes, ...page.removals].map(({ key }) => key));
  }
  return { ...whole, held: plan.held() };
};
