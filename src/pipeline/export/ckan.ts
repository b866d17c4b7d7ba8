// An export as actions of CKAN, a line for each: `ckanapi batch --local-files -I ckan-batch.jsonl`, in the folder of the export.
import { contentTypeOf } from '../../dataset-api/file-types.ts';
import { slugOf } from '../../dataset-api/names.ts';
import { frequencyCode } from '../../dataset-api/values.ts';
import { uuidOfKey } from '../../model/key.ts';
import { defined, unlessEmpty } from '../../util/json.ts';
import { isLink } from './describe.ts';
import { addressOf, type DatasetView, type Entry, type ExportedPortal, listOf, momentOf } from './package.ts';

/** CKAN's bounds: of a name, a tag (letters, digits, spaces, `-`, `_`, `.`), and a title of an organization. */
const [longestName, longestTag] = [100, 100];

/**
 * Actions of one dataset after the other, in an order in which each finds what it names: organizations and groups, then the
 * dataset with its resources, then files. Ids are those of the portal, so that nothing is created twice; a second node with
 * an id gets one of its own. What is not published is private, or left out where CKAN has no word for it.
 */
export const ckanActions = (portal: ExportedPortal): ((view: DatasetView) => Entry[]) => {
  const seen = new Set<string>();
  const isFirst = (id: string): boolean => !seen.has(id) && seen.add(id) !== undefined;
  const collection = (kind: 'organization' | 'group', title: string): { name: string; actions: Entry[] } => {
    const name = nameOf(title);
    return { name, actions: isFirst(`${kind} ${name}`) ? [{ action: `${kind}_create`, data: { name, title } }] : [] };
  };
  const idOf = (uuid: unknown, place: string): string => {
    const own = String(uuid ?? '').toLowerCase();
    return /^[0-9a-f-]{36}$/.test(own) && isFirst(own) ? own : uuidOfKey(`${portal.name}/${place}`);
  };
  return ({ folder, record, dataset, resources }) => {
    if (dataset === null || record.removed !== null) return [];
    const { groups = [portal.name] } = dataset.shown;
    const [owner, ...others] = groups.map((title, at) => collection(at === 0 ? 'organization' : 'group', `${title}`));
    const shown = resources.filter(({ described, upload, link }) => described.published && (upload || isLink(link)));
    const files = shown.map((resource) => ({
      ...resource,
      id: idOf(resource.node.uuid, `${folder}/${resource.name}`),
    }));
    const data = defined({
      id: idOf(dataset.node.uuid, folder),
      name: nameOf(folder),
      owner_org: owner?.name,
      groups: unlessEmpty(others.map(({ name }) => ({ name }))),
      private: !dataset.published,
      ...described(dataset),
      resources: files.map(({ id, described: { title, shown: more }, file, upload, link }) =>
        defined({
          id,
          name: title,
          description: more.description,
          format: more.format,
          url: upload ? portal.fileUrl(upload.uri) : addressOf(link),
          mimetype: upload ? contentTypeOf(upload.name) : undefined,
          size: file?.bytes,
          hash: file?.sha256,
        }),
      ),
    });
    const uploads = files.flatMap(({ id, source }) =>
      source?.file === undefined ? [] : [{ action: 'resource_patch', data: { id }, files: { upload: source.file } }],
    );
    return [
      ...[owner, ...others].flatMap((each) => each?.actions ?? []),
      { action: 'package_create', data },
      ...uploads,
    ];
  };
};

const described = ({ node, title, shown, fields }: NonNullable<DatasetView['dataset']>): Entry => {
  const { contact, temporal, spatial } = shown;
  const tags = listOf([...(shown.tags ?? []), ...(shown.topics ?? [])]) ?? [];
  return {
    title,
    notes: shown.description,
    url: addressOf(shown.landingPage),
    author: shown.author,
    maintainer: contact?.name,
    maintainer_email: contact?.email,
    license_id: shown.license,
    tags: tags.filter(isTag).map((name) => ({ name })),
    extras: extrasOf({
      // Under the names that CKAN's extension for DCAT reads.
      issued: momentOf(node.created),
      modified: shown.modified ?? momentOf(node.changed),
      frequency: shown.frequency && frequencyCode(shown.frequency),
      language: shown.language,
      theme: shown.themes,
      access_rights: shown.access,
      rights: shown.rights,
      conforms_to: shown.conformsTo,
      is_part_of: shown.isPartOf,
      temporal_start: temporal?.from,
      temporal_end: temporal?.to,
      spatial_text: spatial?.label,
      spatial_wkt: spatial?.wkt,
      documentation: shown.relatedContent,
      data_dictionary: shown.dataDictionary,
      data_dictionary_type: shown.dataDictionaryType,
      granularity: shown.granularity,
      summary: shown.summary,
      tags_of_portal: unlessEmpty(tags.filter((tag) => !isTag(tag))),
      ...fields,
      ...shown.additionalInfo,
    }),
  };
};

const extrasOf = (values: Record<string, unknown>): Entry[] =>
  Object.entries(values).flatMap(([key, value]) => {
    if (value === undefined || value === '') return [];
    return [{ key, value: typeof value === 'string' ? value : JSON.stringify(value) }];
  });

const isTag = (tag: string): boolean => tag.length >= 2 && tag.length <= longestTag && /^[\p{L}\p{N} ._-]+$/u.test(tag);

/** A name of CKAN: lower-case ASCII letters, digits, `-` and `_`, two at least. */
const nameOf = (title: string): string => {
  const plain = (slugOf(title.slice(0, longestName)) ?? '').replaceAll('.', '-');
  return plain.length >= 2 ? plain : `${plain || 'x'}-${uuidOfKey(title).slice(0, 8)}`;
};
