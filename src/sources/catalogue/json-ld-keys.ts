// What properties of DCAT-AP become: the keys of a data.json.
/** Namespace of DCAT. */
export const dcat = 'http://www.w3.org/ns/dcat#';
const dct = 'http://purl.org/dc/terms/';
const foaf = 'http://xmlns.com/foaf/0.1/';
const vcard = 'http://www.w3.org/2006/vcard/ns#';
const schema = 'http://schema.org/';
const skos = 'http://www.w3.org/2004/02/skos/core#';
const rdfs = 'http://www.w3.org/2000/01/rdf-schema#';
const locn = 'http://www.w3.org/ns/locn#';
const owl = 'http://www.w3.org/2002/07/owl#';

/** Property and the key it becomes. */
export type Keys = Readonly<Record<string, string>>;

const labelKeys: Keys = { [`${skos}prefLabel`]: 'prefLabel', [`${rdfs}label`]: 'label', [`${foaf}name`]: 'name' };
const agentKeys: Keys = { ...labelKeys, [`${vcard}fn`]: 'fn', [`${vcard}hasEmail`]: 'hasEmail' };
const periodKeys: Keys = {
  [`${dcat}startDate`]: 'startDate',
  [`${dcat}endDate`]: 'endDate',
  [`${schema}startDate`]: 'startDate',
  [`${schema}endDate`]: 'endDate',
};
const placeKeys: Keys = { ...labelKeys, [`${dcat}bbox`]: 'bbox', [`${locn}geometry`]: 'geometry' };
const distributionKeys: Keys = {
  [`${dcat}downloadURL`]: 'downloadURL',
  [`${dcat}accessURL`]: 'accessURL',
  [`${dct}title`]: 'title',
  [`${dct}description`]: 'description',
  [`${dct}format`]: 'format',
  [`${dcat}mediaType`]: 'mediaType',
  [`${dct}license`]: 'license',
};
/** Of a dataset. */
export const datasetKeys: Keys = {
  [`${dct}identifier`]: 'identifier',
  [`${dct}title`]: 'title',
  [`${dct}description`]: 'description',
  [`${dcat}keyword`]: 'keyword',
  [`${dcat}theme`]: 'theme',
  [`${dct}publisher`]: 'publisher',
  [`${dcat}contactPoint`]: 'contactPoint',
  [`${dct}accessRights`]: 'accessLevel',
  [`${dct}rights`]: 'rights',
  [`${dct}license`]: 'license',
  [`${dct}accrualPeriodicity`]: 'accrualPeriodicity',
  [`${dct}issued`]: 'issued',
  [`${dct}modified`]: 'modified',
  [`${dct}temporal`]: 'temporal',
  [`${dct}spatial`]: 'spatial',
  [`${dcat}landingPage`]: 'landingPage',
  [`${dct}language`]: 'language',
  [`${dct}conformsTo`]: 'conformsTo',
  [`${dct}isPartOf`]: 'isPartOf',
  [`${foaf}page`]: 'references',
  [`${owl}versionInfo`]: 'version',
  [`${dcat}version`]: 'version',
  [`${dcat}distribution`]: 'distribution',
};

/** Keys whose values are things with properties of their own. */
export const inside: Readonly<Record<string, Keys>> = {
  theme: labelKeys,
  publisher: agentKeys,
  contactPoint: agentKeys,
  temporal: periodKeys,
  spatial: placeKeys,
  distribution: distributionKeys,
};

/** Keys whose addresses are entries of a list of the European Union: their last part says it. */
export const listed: ReadonlySet<string> = new Set([
  'accessLevel',
  'accrualPeriodicity',
  'language',
  'format',
  'theme',
]);

/** Access rights by the list of the European Union, as DCAT-US has them. */
export const accessLevels: Readonly<Record<string, string>> = {
  PUBLIC: 'public',
  RESTRICTED: 'restricted public',
  NON_PUBLIC: 'non-public',
};

/** The language list of the European Union has codes of three letters, portals have two. */
export const languages: Readonly<Record<string, string>> = Object.fromEntries(
  'BUL bg CES cs DAN da DEU de ELL el ENG en EST et FIN fi FRA fr GLE ga HRV hr HUN hu ITA it LAV lv LIT lt MLT mt NLD nl POL pl POR pt RON ro SLK sk SLV sl SPA es SWE sv'
    .split(/(?<= [a-z]{2}) /)
    .map((pair) => pair.split(' ') as [string, string]),
);
