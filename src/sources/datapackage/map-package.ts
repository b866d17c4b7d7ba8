// What the properties of a data package are in a manifest. The table is in docs/how-to/datapackage.md.

import { slugOf, titleOfName } from '../../dataset-api/slug.ts';
import { licenseCode } from '../../dataset-api/values.ts';
import { idPattern } from '../../model/key.ts';
import type { Path } from '../../model/yaml/document.ts';
import { isAddress } from '../manifest/list-schemas.ts';
import { mapResource } from './map-resource.ts';
import { PackageDraft } from './package-draft.ts';
import type { PackageFile, ReadPackage } from './read-package.ts';

/** How a package is mapped. */
export interface MapOptions {
  /** Name that stands for the package where it has none: that of its folder. */
  folder: string;
  /** Which resources are mapped, of a package that only describes what has its id from elsewhere; all when absent. */
  only?: (paths: string[]) => boolean;
}

/** The package as a dataset of a manifest, not checked yet. */
export const mapPackage = ({ value, document }: ReadPackage, { folder, only }: MapOptions): PackageDraft => {
  const draft = new PackageDraft(document);
  const name = value.name ?? folder;
  const id = idPattern.test(name) ? name : slugOf(name);
  if (id === null && !only) draft.fault(['name'], `cannot derive an id from \`${name}\``);
  draft.set('id', id ?? 'package', ['name']);
  draft.set('title', value.title?.replaceAll(/\s+/g, ' ').trim() || titleOfName(name), ['title']);
  draft.set('description', value.description, ['description']);
  draft.set('tags', tagsOf(value), ['keywords']);
  mapHomepage(value, draft);
  mapLicense(value, draft);
  mapPeople(value, draft);
  mapSources(value, draft);
  draft.set('additionalInfo', factsOf(value), ['version']);
  for (const key of Object.keys(value)) if (!understood.has(key)) draft.remark([key], 'is ignored');
  for (const [index, resource] of value.resources.entries()) {
    if (only && !only([resource.path ?? []].flat())) continue;
    mapResource(draft, resource, ['resources', index]);
  }
  return draft;
};

/** Properties that are mapped, or that say nothing to people. */
const understood = new Set([
  'name',
  'id',
  'title',
  'description',
  'homepage',
  'version',
  'created',
  'keywords',
  'licenses',
  'contributors',
  'sources',
  'resources',
  'profile',
  '$schema',
]);

const tagsOf = ({ keywords = [] }: PackageFile): string[] | undefined => {
  const tags = [...new Set(keywords.map((word) => word.trim()).filter((word) => word !== ''))];
  return tags.length > 0 ? tags : undefined;
};

const mapHomepage = ({ homepage }: PackageFile, draft: PackageDraft): void => {
  if (homepage === undefined || homepage === '') return;
  if (isAddress(homepage)) draft.set('landingPage', homepage, ['homepage']);
  else draft.remark(['homepage'], 'is not an http:// or https:// address');
};

const mapLicense = ({ licenses = [] }: PackageFile, draft: PackageDraft): void => {
  for (const [index, { name = '', path = '', title = '' }] of licenses.entries()) {
    const origin: Path = ['licenses', index];
    const code = licenseCode(path) ?? licenseCode(plainLicense(name));
    if (code !== null && draft.value.license === undefined) draft.set('license', code, origin);
    else if (code !== draft.value.license)
      draft.remark(
        origin,
        `\`${name || path || title}\` is ignored: ${code === null ? 'portals have no code for it' : 'a dataset has one license'}`,
      );
  }
};

/** Open Definition and SPDX identifiers without their versions: `CC-BY-4.0` is `cc-by`. */
const plainLicense = (name: string): string => {
  const plain = name.toLowerCase().replace(/-\d+(?:\.\d+)*$/, '');
  return (
    { cc0: 'cc-zero', pddl: 'odc-pddl', odbl: 'odc-odbl', 'odc-pddl': 'odc-pddl', ogl: 'uk-ogl', 'ogl-uk': 'uk-ogl' }[
      plain
    ] ?? plain
  );
};

/** Who made it and who answers: contributors by their roles. */
const mapPeople = ({ contributors = [] }: PackageFile, draft: PackageDraft): void => {
  const people = contributors.map(({ title, email, role, roles = [], ...names }, index) => ({
    title: title?.trim() || nameOf(names),
    email,
    roles: new Set([...roles, ...(role === undefined ? [] : [role])].map((each) => each.toLowerCase())),
    origin: ['contributors', index] as Path,
  }));
  const first = (...wanted: string[]) =>
    wanted.flatMap((role) => people.filter(({ roles, title }) => roles.has(role) && title !== undefined)).at(0);
  const author = first('author', 'creator') ?? first('publisher') ?? people.find(({ title }) => title !== undefined);
  const contact =
    first('contact', 'contactpoint', 'maintainer') ??
    first('publisher') ??
    people.find(({ email }) => email !== undefined);
  if (author) draft.set('author', author.title, author.origin);
  if (contact) {
    const { title: name, email } = contact;
    const said = { ...(name === undefined ? {} : { name }), ...(email === undefined ? {} : { email }) };
    draft.set('contact', said, contact.origin);
  }
  for (const person of people)
    if (person !== author && person !== contact) draft.remark(person.origin, `\`${person.title ?? ''}\` is ignored`);
};

/** Version 2 may name people by parts. */
const nameOf = ({
  givenName = '',
  familyName = '',
  organization = '',
}: Partial<Record<'givenName' | 'familyName' | 'organization', string>>) =>
  `${givenName} ${familyName}`.trim() || organization.trim() || undefined;

const mapSources = ({ sources = [] }: PackageFile, draft: PackageDraft): void => {
  const links = sources.flatMap(({ title, path }, index) => {
    if (path !== undefined && isAddress(path)) return [{ title: title?.trim() || path, url: path }];
    draft.remark(['sources', index], 'is ignored, because it has no address');
    return [];
  });
  if (links.length > 0) draft.set('relatedContent', links, ['sources']);
};

const factsOf = ({ id, version, created }: PackageFile): Record<string, string> | undefined => {
  const facts = Object.entries({ Identifier: id, Version: version, Created: created }).flatMap(([name, said]) =>
    said === undefined || said === '' ? [] : [[name, said] as const],
  );
  return facts.length > 0 ? Object.fromEntries(facts) : undefined;
};
