// What the portal publishes outside the service: datasets as readers see them, with the names of their terms.
import { z } from 'zod';
import { maxPageSize, paths } from '../dataset-api/paths.ts';
import { PortalRefusedError, PortalReplyError } from '../model/errors.ts';
import { unescapeHtml } from '../util/html.ts';
import { parsedJson } from '../util/json.ts';
import { isAnswer } from './answers.ts';
import type { Caller } from './session.ts';
import type { Traits } from './traits.ts';

const catalogueSchema = z.looseObject({
  dataset: z.array(
    z.looseObject({
      identifier: z.string(),
      keyword: z.array(z.string()).catch([]),
      theme: z.array(z.string()).catch([]),
    }),
  ),
});
const termsSchema = z.array(z.looseObject({ tid: z.coerce.string(), name: z.string() }));

/** Most terms of the service that are listed. */
const mostPages = 500;

/** Sources of the names of terms, each empty where the portal does not offer it. */
export class TermNames {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** All terms by id where the service lists them; null elsewhere. */
  async listed(signal: AbortSignal): Promise<Map<string, string> | null> {
    const names = new Map<string, string>();
    for (let page = 0; page < mostPages; page++) {
      const terms = termsSchema.safeParse(await this.#json('list terms', `${paths.terms}?page=${page}`, signal)).data;
      if (!terms) return page === 0 ? null : names;
      for (const { tid, name } of terms) names.set(tid, name);
      if (terms.length < maxPageSize) break;
    }
    return names;
  }

  /** Names of tags and topics of the public datasets by uuid, in no order; a tag in another vocabulary is ''. */
  async ofDatasets(signal: AbortSignal): Promise<Map<string, { tags: string[]; topics: string[] }>> {
    const value = await this.#json('read catalogue', '/data.json?page=0', signal);
    const { dataset = [] } = catalogueSchema.safeParse(value).data ?? {};
    return new Map(
      dataset.map(({ identifier, keyword, theme }) => [identifier.toLowerCase(), { tags: keyword, topics: theme }]),
    );
  }

  async #json(action: string, path: string, signal: AbortSignal): Promise<unknown> {
    const reply = await this.#caller.call({ action, method: 'GET', path }, signal).catch(orNone);
    return reply === null ? null : parsedJson(reply.text);
  }
}

/** Null where the portal does not offer it, or more than is read at once. Rethrows any other fault. */
const orNone = (error: unknown): null => {
  if (error instanceof PortalReplyError || error instanceof PortalRefusedError) return null;
  throw error;
};

const termSchema = z.looseObject({ name: z.string().catch('').transform(unescapeHtml) });
const packageSchema = z.looseObject({
  id: z.string(),
  tags: z.array(termSchema).catch([]),
  resources: z.array(z.looseObject({ id: z.string(), format: z.string().catch('') })).catch([]),
});
const resultSchema = z.looseObject({
  result: z.union([
    packageSchema,
    z
      .array(packageSchema)
      .min(1)
      .transform(([first]) => first),
  ]),
});

/** What readers see of a dataset. */
export interface PublicDataset {
  uuid: string;
  /** Names of its tags; of a term that is in no vocabulary ''. */
  tags: string[];
  /** Resources in the order of the dataset's list, with the name of their format. */
  resources: { uuid: string; format: string }[];
}

/** The public view of the dataset with that uuid; null where the portal offers none, or not of this one. */
export const publicDataset = async (
  caller: Caller,
  traits: Traits,
  uuid: string,
  signal: AbortSignal,
): Promise<PublicDataset | null> => {
  if (traits.get('packages') === false) return null;
  // Without a page some releases answer with a redirect to the first one.
  const path = `/api/3/action/package_show?id=${encodeURIComponent(uuid)}&page=0`;
  try {
    const reply = await caller.call({ action: 'show package', method: 'GET', path }, signal);
    const parsed = resultSchema.safeParse(parsedJson(reply.text));
    if (!parsed.success || !parsed.data.result) return null;
    traits.learn({ packages: true });
    const { id, tags, resources } = parsed.data.result;
    return {
      uuid: id,
      tags: tags.map(({ name }) => name),
      resources: resources.map((resource) => ({ uuid: resource.id, format: resource.format })),
    };
  } catch (error) {
    if (!isAnswer(error, 'not-offered', 'not-found')) throw error;
    if (error.situation === 'not-offered' && traits.get('packages') === undefined) traits.learn({ packages: false });
    return null;
  }
};
