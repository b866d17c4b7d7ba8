// How much the contexts of a JSON-LD document may ask for: each is laid over all that stand before and around it.
import { isObject } from './values.ts';

/** Contexts that apply at one place: in one list, or inside each other. Honest documents have a few. */
const mostContexts = 100;
/** Terms of these contexts together; the largest vocabularies in use have some thousands. */
const mostTerms = 20_000;

/** Contexts and terms that apply at one place. */
interface Applying {
  contexts: number;
  terms: number;
}

/** What is wrong with the contexts of a document, and what to do; null when it may be expanded. */
export const refusedContexts = (document: unknown): { fault: string; hint: string } | null =>
  refusalIn(document, { contexts: 0, terms: 0 }, []);

const refusalIn = (value: unknown, around: Applying, path: (string | number)[]): ReturnType<typeof refusedContexts> => {
  if (value === null || typeof value !== 'object') return null;
  const here = isObject(value) && '@context' in value ? over(around, value['@context']) : around;
  if (here.contexts > mostContexts) return refusal([...path, '@context'], `${format(mostContexts)} contexts apply`);
  if (here.terms > mostTerms) return refusal([...path, '@context'], `${format(mostTerms)} terms are defined`);
  for (const [key, inner] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    const found = refusalIn(inner, here, [...path, key]);
    if (found !== null) return found;
  }
  return null;
};

const over = ({ contexts, terms }: Applying, context: unknown): Applying => {
  const list = Array.isArray(context) ? context : [context];
  const own = list.reduce((sum: number, each) => sum + (isObject(each) ? Object.keys(each).length : 0), 0);
  return { contexts: contexts + list.length, terms: terms + own };
};

const refusal = (path: (string | number)[], what: string): { fault: string; hint: string } => ({
  fault: `at \`${path.join('.')}\` more than ${what} at once`,
  hint: 'give the document one context with the terms it uses; nothing of it was published, and nothing was taken down',
});

const format = (count: number): string => count.toLocaleString('en');
