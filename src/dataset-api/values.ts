// The coded values of fields, as deployed portals know them (recorded-behaviour 15).

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

/** A code of {@link licenses}. */
export type License = keyof typeof licenses;

/** How often data is renewed: the code of entity portals, plain words for it, and the integer of form portals. */
export interface Frequency {
  code: string;
  words: readonly string[];
  /** Option of the editing form (recorded-behaviour 8a); null where the form has none. */
  form: number | null;
}

/** Every frequency; of two codes with the same integer the first is the usual one. */
export const frequencies: readonly Frequency[] = [
  { code: 'R/PT1S', words: ['continuously', 'continuous'], form: 4 },
  { code: 'R/PT1H', words: ['hourly'], form: null },
  { code: 'R/P1D', words: ['daily'], form: 0 },
  { code: 'R/P0.33W', words: ['three times a week'], form: 14 },
  { code: 'R/P3.5D', words: ['semiweekly', 'twice a week'], form: 9 },
  { code: 'R/P0.5W', words: [], form: 9 },
  { code: 'R/P1W', words: ['weekly'], form: 1 },
  { code: 'R/P2W', words: ['biweekly', 'every two weeks'], form: 10 },
  { code: 'R/P0.33M', words: ['three times a month'], form: 15 },
  { code: 'R/P0.5M', words: ['semimonthly', 'twice a month'], form: 18 },
  { code: 'R/P1M', words: ['monthly'], form: 2 },
  { code: 'R/P2M', words: ['bimonthly', 'every two months'], form: 8 },
  { code: 'R/P3M', words: ['quarterly'], form: 16 },
  { code: 'R/P4M', words: ['three times a year'], form: 17 },
  { code: 'R/P6M', words: ['semiannually', 'semiannual', 'twice a year'], form: 11 },
  { code: 'R/P1Y', words: ['annually', 'annual', 'yearly'], form: 3 },
  { code: 'R/P2Y', words: ['biennially', 'biennial', 'every two years'], form: 12 },
  { code: 'R/P3Y', words: ['triennially', 'triennial', 'every three years'], form: 13 },
  { code: 'R/P4Y', words: ['quadrennially', 'quadrennial', 'every four years'], form: 7 },
  { code: 'R/P10Y', words: ['decennially', 'decennial', 'every ten years'], form: 6 },
  { code: 'irregular', words: ['irregularly'], form: 5 },
];

/** The code of a frequency given as code or plain word (any case); undefined when nothing is known by it. */
export const frequencyCode = (text: string): string | undefined =>
  frequencies.find(({ code, words }) => code === text || words.includes(text.toLowerCase()))?.code;

/** The integer that form portals want for a frequency code; null where they have none. */
export const formFrequency = (code: string): number | null =>
  frequencies.find((frequency) => frequency.code === code)?.form ?? null;

/** Who may have the data; all but `public` need `rights` (recorded-behaviour 8a). */
export const accessLevels = ['public', 'restricted', 'private'] as const;
