// A dataset as readers see it, if the portal offers that (`package_show`, outside the service).
import { z } from 'zod';
import { PortalError } from '../model/errors.ts';
import { parsedJson } from '../util/json.ts';
import type { Caller } from './caller.ts';
import type { Traits } from './traits.ts';

const termSchema = z.looseObject({ vocabulary_id: z.coerce.string().catch(''), name: z.string().catch('') });
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
  /** Tags with the id of their vocabulary; a term that is in none has no name. */
  tags: { name: string; vocabulary: string }[];
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
      tags: tags.map(({ name, vocabulary_id }) => ({ name, vocabulary: vocabulary_id })),
      resources: resources.map((resource) => ({ uuid: resource.id, format: resource.format })),
    };
  } catch (error) {
    if (!(error instanceof PortalError) || error.request.status !== 404) throw error;
    // A portal with the route says in JSON that there is no such dataset.
    if (error.request.isPage && traits.get('packages') === undefined) traits.learn({ packages: false });
    return null;
  }
};
