// Coded values of the API: of fields, as deployed portals define them (recorded-behaviour 15), with their names elsewhere,
// the status of a datastore, and permissions.

/** License codes with the names that portals show. */
export const licenses = {
  'cc-by': 'Creative Commons Attribution',
  'cc-by-sa': 'Creative Commons Attribution Share-Alike',
  'cc-zero': 'Creative Commons CCZero',
  'cc-nc': 'Creative Commons Non-Commercial',
  gfdl: 'GNU Free Documentation License',
  notspecified: 'License not specified',
  'odc-by': 'Open Data Commons Attribution License',
  'odc-odbl': 'Open Data Commons Open Database License',
  'odc-pddl': 'Open Data Commons Public Domain Dedication and Licence',
  'other-at': 'Other (Attribution)',
  'other-nc': 'Other (Non-Commercial)',
  'other-closed': 'Other (Not Open)',
  'other-open': 'Other (Open)',
  'other-pd': 'Other (Public Domain)',
  'uk-ogl': 'UK Open Government Licence',
} as const;

type License = keyof typeof licenses;

/**
 * Every update interval: the code of entity portals, plain words, the option of editing forms (recorded-behaviour 8a), the
 * entry in the list of the European Union. Of two codes with the same option or entry the first is the usual one.
 */
export const frequencies: readonly { code: string; words: readonly string[]; form: number | null; eu: string }[] = [
  { code: 'R/PT1S', words: ['continuously', 'continuous'], form: 4, eu: 'CONT' },
  { code: 'R/PT1H', words: ['hourly'], form: null, eu: 'HOURLY' },
  { code: 'R/P1D', words: ['daily'], form: 0, eu: 'DAILY' },
  { code: 'R/P0.33W', words: ['three times a week'], form: 14, eu: 'WEEKLY_3' },
  { code: 'R/P3.5D', words: ['semiweekly', 'twice a week'], form: 9, eu: 'WEEKLY_2' },
  { code: 'R/P0.5W', words: [], form: 9, eu: 'WEEKLY_2' },
  { code: 'R/P1W', words: ['weekly'], form: 1, eu: 'WEEKLY' },
  { code: 'R/P2W', words: ['biweekly', 'every two weeks'], form: 10, eu: 'BIWEEKLY' },
  { code: 'R/P0.33M', words: ['three times a month'], form: 15, eu: 'MONTHLY_3' },
  { code: 'R/P0.5M', words: ['semimonthly', 'twice a month'], form: 18, eu: 'MONTHLY_2' },
  { code: 'R/P1M', words: ['monthly'], form: 2, eu: 'MONTHLY' },
  { code: 'R/P2M', words: ['bimonthly', 'every two months'], form: 8, eu: 'BIMONTHLY' },
  { code: 'R/P3M', words: ['quarterly'], form: 16, eu: 'QUARTERLY' },
  { code: 'R/P4M', words: ['three times a year'], form: 17, eu: 'ANNUAL_3' },
  { code: 'R/P6M', words: ['semiannually', 'semiannual', 'twice a year'], form: 11, eu: 'ANNUAL_2' },
  { code: 'R/P1Y', words: ['annually', 'annual', 'yearly'], form: 3, eu: 'ANNUAL' },
  { code: 'R/P2Y', words: ['biennially', 'biennial', 'every two years'], form: 12, eu: 'BIENNIAL' },
  { code: 'R/P3Y', words: ['triennially', 'triennial', 'every three years'], form: 13, eu: 'TRIENNIAL' },
  { code: 'R/P4Y', words: ['quadrennially', 'quadrennial', 'every four years'], form: 7, eu: 'QUADRENNIAL' },
  { code: 'R/P10Y', words: ['decennially', 'decennial', 'every ten years'], form: 6, eu: 'DECENNIAL' },
  { code: 'irregular', words: ['irregularly'], form: 5, eu: 'IRREG' },
];

/** The code of a frequency given as code or plain word (any case); undefined for an unknown one. */
export const frequencyCode = (text: string): string | undefined =>
  frequencies.find(({ code, words }) => code === text || words.includes(text.toLowerCase()))?.code;

const unitMs: Record<string, number> = { H: 3.6e6, D: 86.4e6, W: 604.8e6, M: 2_629.8e6, Y: 31_557.6e6 };

/** Milliseconds between two updates, by a code or plain word; null for `irregular`, `continuous` and unknown ones. */
export const frequencyMs = (text: string): number | null => {
  const [, amount, unit = ''] = /^R\/PT?([\d.]+)([HDWMY])$/.exec(frequencyCode(text) ?? '') ?? [];
  return amount === undefined ? null : Number(amount) * (unitMs[unit] ?? 0);
};

/** The integer that form portals expect for a frequency code; null where they have none. */
export const formFrequency = (code: string): number | null =>
  frequencies.find((frequency) => frequency.code === code)?.form ?? null;

/** The code of a frequency as a node holds it: form portals keep their integer. */
export const keptFrequency = (text: string | undefined): string | undefined =>
  frequencies.find(({ form }) => form !== null && String(form) === text)?.code ?? text;

/** Who may have the data; all but `public` need `rights` (recorded-behaviour 8a). */
export const accessLevels = ['public', 'restricted', 'private'] as const;

/** The access levels as catalogues (DCAT-US 1.1) name them. */
export const catalogueAccess: Readonly<Record<(typeof accessLevels)[number], string>> = {
  public: 'public',
  restricted: 'restricted public',
  private: 'non-public',
};

/** Authority lists of the European Union: our values with the names of their entries; of two the first is usual. */
const euLists: Record<'access-right' | 'frequency' | 'language', readonly (readonly [string, string])[]> = {
  'access-right': [
    [catalogueAccess.public, 'PUBLIC'],
    [catalogueAccess.restricted, 'RESTRICTED'],
    [catalogueAccess.private, 'NON_PUBLIC'],
  ],
  frequency: [...frequencies.map(({ code, eu }) => [code, eu] as const), ['R/PT1S', 'UPDATE_CONT']],
  language:
    `bg BUL, cs CES, da DAN, de DEU, el ELL, en ENG, et EST, fi FIN, fr FRA, ga GLE, hr HRV, hu HUN, it ITA, lv LAV,
    lt LIT, mt MLT, nl NLD, pl POL, pt POR, ro RON, sk SLK, sl SLV, es SPA, sv SWE`
      .split(/,\s+/)
      .map((pair) => pair.split(' ') as [string, string]),
};

export type EuList = keyof typeof euLists;

/** Our value for the last part of the address of an entry; undefined for one that we have none for. */
export const fromEuCode = (list: EuList, code: string): string | undefined =>
  euLists[list].find(([, each]) => each === code)?.[0];

/** The address of the entry for our value; undefined where the list has none. */
export const euAddress = (list: EuList, value: string): string | undefined => {
  const code = euLists[list].find(([each]) => each === value)?.[1];
  return code && `http://publications.europa.eu/resource/authority/${list}/${code}`;
};

/** Beginnings of license addresses and SPDX identifiers, the code, and the rest of the address of the present version; the first wins. */
const addresses: readonly (readonly [string, License, string?])[] = [
  ['creativecommons.org/licenses/by-sa', 'cc-by-sa', '/4.0/'],
  ['creativecommons.org/licenses/by-nc', 'cc-nc', '/4.0/'],
  ['creativecommons.org/licenses/by', 'cc-by', '/4.0/'],
  ['creativecommons.org/publicdomain/zero', 'cc-zero', '/1.0/'],
  ['creativecommons.org/publicdomain/mark', 'other-pd', '/1.0/'],
  ['creativecommons.org/licenses/publicdomain', 'other-pd'],
  ['opendatacommons.org/licenses/by', 'odc-by', '/1-0/'],
  ['opendatacommons.org/licenses/odbl', 'odc-odbl', '/1-0/'],
  ['opendatacommons.org/licenses/pddl', 'odc-pddl', '/1-0/'],
  ['opendefinition.org/licenses/cc-by-sa', 'cc-by-sa'],
  ['opendefinition.org/licenses/cc-by', 'cc-by'],
  ['opendefinition.org/licenses/cc-zero', 'cc-zero'],
  ['opendefinition.org/licenses/odc-by', 'odc-by'],
  ['opendefinition.org/licenses/odc-odbl', 'odc-odbl'],
  ['opendefinition.org/licenses/odc-pddl', 'odc-pddl'],
  ['nationalarchives.gov.uk/doc/open-government-licence', 'uk-ogl', '/version/3/'],
  ['gnu.org/licenses/fdl', 'gfdl', '-1.3.html'],
  ['gnu.org/copyleft/fdl', 'gfdl'],
  ['usa.gov/government-works', 'other-pd'],
  ['usa.gov/publicdomain', 'other-pd'],
  ['cc0', 'cc-zero'],
  ['cc-by-nc', 'cc-nc'],
  ['pddl', 'odc-pddl'],
  ['odbl', 'odc-odbl'],
  ['ogl-uk', 'uk-ogl'],
  ['ogl', 'uk-ogl'],
];

/** The code of a license given by address, code, or identifier of SPDX (`CC-BY-4.0`); null where portals have no code for it. */
export const licenseCode = (text: string): License | null => {
  // The variants of non-commercial licenses count as one.
  const plain = text.toLowerCase().replace(/\bby-nc-(?:sa|nd)\b/, 'by-nc');
  const name = plain.replaceAll(/^\s*(?:https?:\/\/(?:www\.)?)?|\s+$/g, '').replaceAll(/\s+/g, '-');
  const codes = Object.keys(licenses) as License[]; // its own keys
  return codes.find((code) => begins(name, code)) ?? addresses.find(([begin]) => begins(name, begin))?.[1] ?? null;
};

/** The address of a license; undefined for one that has none. */
export const licenseAddress = (license: License): string | undefined => {
  const [begin, , rest] = addresses.find(([, code, version]) => code === license && version !== undefined) ?? [];
  // These answer under their full name only.
  return begin && `https://${/^(?:gnu|nationalarchives)/.test(begin) ? 'www.' : ''}${begin}${rest}`;
};

/** `by` must not match `by-nd` or `by-4.0-nd`: it goes on with a slash, a point, a version, or not at all, and restricts nothing. */
const begins = (address: string, begin: string): boolean =>
  address.startsWith(begin) &&
  /^(?:$|[/.#?]|-\d)(?!.*\b(?:n[cd]|sa|non\w*|with|not)\b)/.test(address.slice(begin.length));

/** As the status endpoint gives them (spec 2.7). */
export type DatastoreNumbers = Record<'storage' | 'data_import', number>;

export type DatastoreState = 'none' | 'ready' | 'running' | 'paused' | 'imported' | 'failed' | 'unknown';

/** By `data_import`, where there is storage; 2 is of older portals and the `spec` profile. */
const importStates = [null, null, 'imported', 'ready', 'running', 'paused', 'imported', 'failed'] as const;

const withoutStorage: readonly DatastoreState[] = ['running', 'paused', 'failed'];

/** Decodes a datastore status. Without storage there is none, unless an import runs or failed. */
export const datastoreState = ({ storage, data_import }: DatastoreNumbers): DatastoreState => {
  const state = importStates[data_import] ?? 'unknown';
  return storage < 1 && !withoutStorage.includes(state) ? 'none' : state;
};

/** Permissions of roles (recorded-behaviour 14): named in the configuration, enforced by the embedded portal. */
export const permissions = [
  'create content',
  'edit own content',
  'edit any content',
  'manage datastore',
  'create other content',
  'administer nodes',
  'unlimited lists',
  'access site in maintenance mode',
  'administer users',
] as const;

export type Permission = (typeof permissions)[number];
