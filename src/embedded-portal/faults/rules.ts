// The rules of a fault rehearsal, read from a YAML file, and the fault that each request draws from them: the seed makes
// the same requests meet the same faults again.
import picomatch from 'picomatch';
import { z } from 'zod';
import { ConfigError } from '../../model/errors.ts';
import { checkDocument } from '../../model/yaml/check.ts';
import { readYaml } from '../../model/yaml/document.ts';
import { durationMs, durationText } from '../../util/quantity.ts';
import { numbersOf } from '../races.ts';
import { siteSchema } from '../site.ts';

const methods = 'GET|POST|PUT|DELETE|HEAD|OPTIONS|\\*';
const routeWords = 'must be a method (or `*`) and a path pattern, such as `POST /api/dataset/node/*/attach_file`';

const common = {
  /** `METHOD /path/pattern`: `*` stands for one part of a path, `**` for any number, `* /…` for every method. */
  route: z.string().regex(new RegExp(`^(?:${methods}) /\\S*$`), { error: routeWords }),
  /** Share of the matching requests that meet the fault, 0 to 1; all when absent. */
  probability: z.number().min(0).max(1).exactOptional(),
  /** Of the matching requests every n-th, or the first once that much time has passed; each when absent. */
  every: z.union([z.int().min(1), durationText]).exactOptional(),
  /** How often the fault comes at most; without end when absent. */
  times: z.int().min(1).exactOptional(),
};

/** Whether the portal gets the request before the fault: `after` = the portal has processed it, but the caller doesn't learn that. */
const when = z.enum(['before', 'after']).exactOptional();

const rule = <F extends string, S extends z.core.$ZodLooseShape>(fault: F, more: S) =>
  z.strictObject({ ...common, fault: z.literal(fault), ...more });

/** What a rule does to the site before the request goes on. */
const siteRules = [
  rule('end-sessions', {}),
  rule('cron', {}),
  /** Maintenance mode begins; for good when `lasts` is absent. */
  rule('maintenance', { lasts: durationText.exactOptional() }),
] as const;

export type SiteRule = z.infer<(typeof siteRules)[number]>;

const isSiteRule = (rule: FaultRule): rule is SiteRule =>
  siteRules.some(({ shape }) => shape.fault.value === rule.fault);

/** Rules are tried in order; the first that hits decides, but a `delay` and what is done to the site go on to the next. */
const faultRuleSchema = z.discriminatedUnion('fault', [
  /** No fault, and no further rule: an exception to the rules below it. */
  rule('pass', {}),
  /** Held back before the portal gets it, for a time between `delay` and `upTo` where both are given. */
  rule('delay', { delay: durationText, upTo: durationText.exactOptional() }),
  /** The connection is reset; the portal never hears of the request. */
  rule('drop-request', {}),
  /** The portal answers, and the connection is reset instead of the answer. */
  rule('drop-reply', {}),
  /** The head of the answer and half of its body, then the connection is reset. */
  rule('reset-body', {}),
  /** Half of the body, sent as if it were complete. */
  rule('truncated-body', {}),
  /** 200 with an HTML page instead of the answer. */
  rule('wrong-type', { when }),
  rule('status', {
    status: z.int().min(400).max(599),
    when,
    retryAfter: durationText.exactOptional(),
    message: z.string().min(1).max(200).exactOptional(),
  }),
  /** No answer forever; the connection stays open. */
  rule('hang', { when }),
  /** A datastore status that reads "paused" (5), whatever is true. */
  rule('paused', {}),
  ...siteRules,
]);

export type FaultRule = z.infer<typeof faultRuleSchema>;

export const faultPlanSchema = z.strictObject({
  /** Begins the draws: the same seed, rules and requests meet the same faults. */
  seed: z.int().min(0).default(1),
  rules: z.array(faultRuleSchema).default([]),
  site: siteSchema,
});

export type FaultPlan = Pick<z.infer<typeof faultPlanSchema>, 'seed' | 'rules'>;

const hint = 'fix the lines named above; docs/embedded-portal/rehearse-faults.md lists every fault';

/** Reads a file of rules and switches. Throws ConfigError with all its problems, each with line and column. */
export const readFaults = async (path: string) => {
  const { document, problems } = await readYaml(path);
  const checked = document === null ? { value: null, problems } : checkDocument(document, faultPlanSchema);
  if (checked.value === null) throw new ConfigError(checked.problems, { hint });
  return checked.value;
};

export type Draw = ReturnType<ReturnType<typeof drawsOf>>;

export const drawsOf = ({ seed, rules }: FaultPlan) => {
  const known = rules.map(knownRule);
  const seen = new Map<string, number>();
  /**
   * The fault of a request; `path` without its query. A draw depends on seed, rule, method, path and how often that
   * method and path came before, not on the order in which different requests arrive. `fault` is the rule that decides; null
   * when the request passes unharmed, `delayMs` later.
   */
  return (method: string, path: string) => {
    const name = `${method} ${path}`;
    const nth = (seen.get(name) ?? 0) + 1;
    seen.set(name, nth);
    let delayMs = 0;
    const before: SiteRule[] = [];
    for (const [index, each] of known.entries()) {
      const { rule } = each;
      const { probability = 1, times = Number.POSITIVE_INFINITY } = rule;
      const [chance, amount] = numbersOf(`${seed} ${index} ${name} ${nth}`);
      if (!isMeant(each, method, path) || each.hits >= times || chance >= probability) continue;
      each.hits += 1;
      if (rule.fault === 'pass') break;
      if (isSiteRule(rule)) before.push(rule);
      else if (rule.fault !== 'delay') return { delayMs, before, fault: rule };
      else delayMs += delayOf(rule, amount);
    }
    return { delayMs, before, fault: null };
  };
};

/** A rule, how many requests matched it, when its turn came last (milliseconds; the start before), how often it was drawn. */
const knownRule = (rule: FaultRule) => {
  const [method = '*', pattern = '/**'] = rule.route.split(' ');
  const matches = picomatch(pattern, { dot: true, nocase: true });
  return { rule, method, matches, matched: 0, turnAt: Date.now(), hits: 0 };
};

/** True for a request on the rule's route at its turn, which is noted. */
const isMeant = (known: ReturnType<typeof knownRule>, method: string, path: string): boolean => {
  const { every = 1 } = known.rule;
  if ((known.method !== '*' && known.method !== method) || !known.matches(path)) return false;
  known.matched += 1;
  if (typeof every === 'number') return known.matched % every === 0;
  if (Date.now() - known.turnAt < durationMs(every)) return false;
  known.turnAt = Date.now();
  return true;
};

const delayOf = ({ delay, upTo }: Extract<FaultRule, { fault: 'delay' }>, amount: number): number => {
  const least = durationMs(delay);
  return least + Math.max(0, durationMs(upTo ?? delay) - least) * amount;
};
